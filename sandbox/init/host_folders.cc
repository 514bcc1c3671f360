// Folders of the host: their mounts, and what stays read-only or hidden in them. open_tree,
// move_mount and fsmount in <linux/mount.h>, openat2(2).
//
// Code of another box may be changing the folder meanwhile, so nothing in it is reached through a
// link, and what is covered is the very file or directory that hutch-box has looked at.
#include "sandbox/init/host_folders.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>

#include "sandbox/init/mount_attributes.h"
#include "sandbox/init/receive.h"
#include "sandbox/init/report.h"
#include "sandbox/wire/init_protocol.h"

namespace sandbox::init {
namespace {

// -1 with errno.
int open_in_folder(int folder, const char* path) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
}

void put_over(int cover, int fd, const MountAttributes& attributes, const char* subject) {
  must(attach_mount(cover, fd, "", MOVE_MOUNT_T_EMPTY_PATH, attributes), "move_mount", subject);
  must(::close(cover), "close");
}

// By a mount of the same directory or file that nobody can write through.
void protect(int path_fd, const char* subject) {
  const int cover =
      must(::open_tree(path_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC),
           "open_tree", subject);
  constexpr auto kReadOnly = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  put_over(cover, path_fd, {kReadOnly, false, true}, subject);
}

int make_empty_directory() {
  const int context = must(::fsopen("tmpfs", FSOPEN_CLOEXEC), "fsopen tmpfs");
  constexpr const char* kOptions[][2] = {{"size", "4k"}, {"nr_inodes", "2"}, {"mode", "0555"}};
  for (const auto& option : kOptions) {
    must(::fsconfig(context, FSCONFIG_SET_STRING, option[0], option[1], 0), "fsconfig tmpfs",
         option[0]);
  }
  must(::fsconfig(context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0), "make a tmpfs");
  const int fd =
      must(::fsmount(context, FSMOUNT_CLOEXEC,
                     MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC),
           "fsmount tmpfs");
  must(::close(context), "close");
  return fd;
}

void block(int path_fd, bool directory, const char* null_device, const char* subject) {
  const int cover =
      directory ? make_empty_directory()
                : must(::open_tree(AT_FDCWD, null_device, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC),
                       "open_tree /dev/null");
  put_over(cover, path_fd, {}, subject);
}

// Covers the directory that `path` leads through and init may not search. It is closed to the box's
// code as well when it belongs to an id that the box does not have. Else the code could open it
// again, so it is protected as a whole; where `op` is kBlock, or the folder itself is closed, init
// fails.
void cover_what_is_closed(wire::PlanOp op, int folder, const char* path) {
  constexpr uid_t kOverflowUid = 65534;  // stands for all ids without a place in the box
  int closed = -1;
  char prefix[PATH_MAX];
  for (std::size_t i = 0; path[i] != '\0' && i < sizeof prefix; ++i) {
    prefix[i] = path[i];
    if (path[i] != '/') continue;
    prefix[i] = '\0';
    const int fd = open_in_folder(folder, prefix);
    if (fd < 0) break;
    if (closed >= 0) (void)::close(closed);
    closed = fd;
    prefix[i] = '/';
  }
  struct stat status {};
  must(::fstat(closed >= 0 ? closed : folder, &status), "fstat", path);
  if (status.st_uid != kOverflowUid) {
    if (closed < 0 || op != wire::PlanOp::kProtect) {
      errno = EACCES;
      fail("a host folder is being changed: open", path);
    }
    protect(closed, path);
  }
  if (closed >= 0) must(::close(closed), "close");
}

}  // namespace

int receive_mount() {
  wire::InitHead head;
  const Message message = receive_message(kBoxFd, &head, sizeof head, 0);
  if (message.size != sizeof head || head.type != wire::InitMessage::kMount ||
      message.fd_count != 1) {
    errno = EPROTO;
    fail("receive the mount of a host folder");
  }
  return message.fds[0];
}

void cover_in_folder(const wire::PlanRecord& record, const char* folder, const char* null_device) {
  const char* path = record.fields[1];
  const int folder_fd =
      must(::open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), "open", record.fields[0]);
  const int fd = open_in_folder(folder_fd, path);
  if (fd < 0 && errno == EACCES) {
    cover_what_is_closed(record.op, folder_fd, path);
    must(::close(folder_fd), "close");
    return;
  }
  must(fd, "a host folder is being changed: open", path);
  must(::close(folder_fd), "close");
  struct stat status {};
  must(::fstat(fd, &status), "fstat", path);
  if (status.st_dev != std::strtoull(record.fields[2], nullptr, 10) ||
      status.st_ino != std::strtoull(record.fields[3], nullptr, 10)) {
    errno = ESTALE;
    fail("a host folder is being changed:", path);
  }
  if (record.op == wire::PlanOp::kProtect) {
    protect(fd, path);
  } else {
    block(fd, S_ISDIR(status.st_mode), null_device, path);
  }
  must(::close(fd), "close");
}

}  // namespace sandbox::init
