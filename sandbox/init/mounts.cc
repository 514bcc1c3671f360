// The file tree of the box. Sources: mount_namespaces(7), pivot_root(2), mount_setattr(2),
// open_tree and move_mount in <linux/mount.h>.
//
// Everything hostile code can write is reached by a mount whose source was opened here by a path
// that no box can change, and is mounted on a tmpfs that nothing hostile has seen yet.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox/init/host_folders.h"
#include "sandbox/init/mount_attributes.h"
#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "sandbox/wire/plan_format.h"

namespace sandbox::init {
namespace {

// Where the new root is put together. It hides the host's /tmp in our namespace only, and every
// bind source is open by then.
constexpr char kNewRoot[] = "/tmp";
constexpr std::size_t kPathBytesMax = 1024;
// Becomes a mount of its own at the end.
constexpr char kOwnMount[] = "/proc/sys";

// A cloned, still detached mount, and how it shall be attached; -1 where an optional one is
// missing.
struct Source {
  int fd;
  MountAttributes attributes;
};

Source g_sources[wire::kPlanBindsMax];  // one for each kBind record, in order

bool has(const char* options, char letter) { return std::strchr(options, letter) != nullptr; }

// `path` as it is reached while the new root is still at kNewRoot.
class InNewRoot {
 public:
  explicit InNewRoot(const char* path) {
    const int size = std::snprintf(text_, sizeof text_, "%s%s", kNewRoot, path);
    if (size < 0 || static_cast<std::size_t>(size) >= sizeof text_) {
      errno = ENAMETOOLONG;
      fail("build root", path);
    }
  }
  [[nodiscard]] const char* get() const { return text_; }

 private:
  char text_[kPathBytesMax];
};

void make_mount_point(const char* target, bool directory) {
  const InNewRoot path(target);
  if (directory) {
    if (::mkdir(path.get(), 0755) != 0 && errno != EEXIST) fail("mkdir", target);
    return;
  }
  int fd = ::open(path.get(), O_PATH | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) fd = ::open(path.get(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  must(::close(must(fd, "create mount point", target)), "close");
}

void attach(const Source& source, const char* target) {
  if (source.fd < 0) return;
  struct stat status {};
  must(::fstat(source.fd, &status), "fstat", target);
  make_mount_point(target, S_ISDIR(status.st_mode));
  must(attach_mount(source.fd, AT_FDCWD, InNewRoot(target).get(), 0, source.attributes),
       "move_mount", target);
  must(::close(source.fd), "close", target);
}

// A mount of two directories, where files of the first hide those of the second. -1 with errno.
// By descriptor: fsconfig(2) takes 255 bytes, and a colon parts the directories.
int lay_over(const char* source, const char* below) {
  const int first = ::open(source, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (first < 0) return -1;
  char layers[kPathBytesMax];
  (void)std::snprintf(layers, sizeof layers, "/proc/self/fd/%d:%s", first, below);
  const int context = ::fsopen("overlay", FSOPEN_CLOEXEC);
  if (context < 0) fail("overlayfs, which this environment needs, is not there:", below);
  must(::fsconfig(context, FSCONFIG_SET_STRING, "lowerdir", layers, 0), "lay over", below);
  must(::fsconfig(context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0), "lay over", below);
  const int mount_fd = ::fsmount(context, FSMOUNT_CLOEXEC, 0);
  (void)::close(context);
  (void)::close(first);
  return mount_fd;
}

// -1 with errno.
int open_source(const char* source, const char* target, const char* options) {
  if (has(options, 's')) return receive_mount();
  if (has(options, 'l')) return lay_over(source, target);
  unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  if (!has(options, 'a')) flags |= AT_RECURSIVE;
  return ::open_tree(AT_FDCWD, source, flags);
}

Source clone_source(const wire::PlanRecord& record) {
  const char* source = record.fields[0];
  // For messages, which may reach a client far away: not where it is on the host.
  const char* shown = record.fields[1];
  const char* options = record.fields[2];
  const int fd = open_source(source, record.fields[1], options);
  if (fd < 0 && errno == ENOENT && has(options, 'o')) return {-1, {}};
  if (fd < 0 && errno == EINVAL && has(options, 'a')) {
    fail("another file system is mounted in this folder of the host:", shown);
  }
  must(fd, "open_tree", shown);
  const unsigned long long device = std::strtoull(record.fields[3], nullptr, 10);
  const unsigned long long inode = std::strtoull(record.fields[4], nullptr, 10);
  if (device != 0 || inode != 0) {
    // hutch-box opened this directory before; what we found by path must be the same one.
    struct stat status {};
    must(::fstat(fd, &status), "fstat", shown);
    if (status.st_dev != device || status.st_ino != inode) {
      errno = ESTALE;
      fail("a bind source was exchanged:", shown);
    }
  }
  // Who has sent it has set them, with more rights than ours.
  if (has(options, 's')) return {fd, {}};
  MountAttributes attributes{MOUNT_ATTR_NOSUID, true, has(options, 'a')};
  // /dev entries are device nodes; everything else must not be.
  if (std::strncmp(record.fields[1], "/dev/", 5) != 0) attributes.set |= MOUNT_ATTR_NODEV;
  if (has(options, 'r')) attributes.set |= MOUNT_ATTR_RDONLY;
  if (has(options, 'x')) attributes.set |= MOUNT_ATTR_NOEXEC;
  return {fd, attributes};
}

void mount_tmpfs(const wire::PlanRecord& record) {
  char data[256];
  (void)std::snprintf(data, sizeof data, "size=%s,nr_inodes=%s,mode=%s", record.fields[1],
                      record.fields[2], record.fields[3]);
  make_mount_point(record.fields[0], true);
  must(::mount("tmpfs", InNewRoot(record.fields[0]).get(), "tmpfs",
               MS_NOSUID | MS_NODEV | MS_NOEXEC, data),
       "mount tmpfs", record.fields[0]);
}

void write_new_file(const char* path, const char* content, int flags) {
  const InNewRoot full(path);
  const int fd =
      must(::open(full.get(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0444), "create", path);
  const auto size = static_cast<ssize_t>(std::strlen(content));
  if (::write(fd, content, static_cast<std::size_t>(size)) != size) fail("write", path);
  must(::close(fd), "close", path);
}

// hidepid: init is not dumpable, so its command line with paths of the host is not there to read.
void mount_proc(const char* target) {
  make_mount_point(target, true);
  must(::mount("proc", InNewRoot(target).get(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
               "hidepid=ptraceable"),
       "mount proc (is the /proc of this container masked?)");
}

// An instance of its own: no terminal of the host is in it, and its terminals reach nobody outside.
void mount_terminals(const char* target) {
  make_mount_point(target, true);
  must(::mount("devpts", InNewRoot(target).get(), "devpts", MS_NOSUID | MS_NOEXEC,
               "newinstance,ptmxmode=0666,mode=0620,max=64"),
       "mount devpts");
}

void write_sysctl(const wire::PlanRecord& record) {
  char path[kPathBytesMax];
  (void)std::snprintf(path, sizeof path, "%s/proc/sys/%s", kNewRoot, record.fields[0]);
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  // A kernel that does not have what is to be limited has nothing to limit.
  if (fd < 0 && errno == ENOENT) return;
  must(fd, "open", path);
  const auto size = static_cast<ssize_t>(std::strlen(record.fields[1]));
  if (::write(fd, record.fields[1], static_cast<std::size_t>(size)) != size) fail("write", path);
  must(::close(fd), "close", path);
}

// The one in place of the other.
void show(const char* file, const char* target) {
  const int fd =
      must(::open_tree(AT_FDCWD, file, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), "open_tree", file);
  must(::move_mount(fd, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH), "show", target);
  must(::close(fd), "close");
}

bool is_below(const char* path, const char* directory) {
  const std::size_t size = std::strlen(directory);
  return std::strncmp(path, directory, size) == 0 && path[size] == '/';
}

// Shows what the plan has below a directory that has become a mount of its own. Shown before, it
// would have stayed behind in the mount that was there.
void show_below(const Plan& plan, const char* directory) {
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  while (reader.next(record)) {
    if (record.op != wire::PlanOp::kShow || !is_below(record.fields[1], directory)) continue;
    show(record.fields[0], record.fields[1]);
  }
}

// A file reads as empty behind the host's /dev/null, a directory behind an empty tmpfs.
void mask(const char* target) {
  const InNewRoot path(target);
  struct stat status {};
  if (::lstat(path.get(), &status) != 0) {
    if (errno == ENOENT) return;
    fail("stat", target);
  }
  if (S_ISDIR(status.st_mode)) {
    must(::mount("tmpfs", path.get(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
                 "size=4k,nr_inodes=2,mode=0555"),
         "mask", target);
    return;
  }
  const int null_fd =
      must(::open_tree(AT_FDCWD, InNewRoot("/dev/null").get(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC),
           "open_tree /dev/null");
  must(::fstat(null_fd, &status), "fstat /dev/null");
  if (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(1, 3)) {
    errno = EINVAL;
    fail("/dev/null is not the null device");
  }
  must(::move_mount(null_fd, "", AT_FDCWD, path.get(), MOVE_MOUNT_F_EMPTY_PATH), "mask", target);
  must(::close(null_fd), "close");
}

void carry_out(const wire::PlanRecord& record, int& bind_index) {
  switch (record.op) {
    case wire::PlanOp::kDirectory: {
      const auto mode = static_cast<mode_t>(std::strtoul(record.fields[1], nullptr, 8));
      if (::mkdir(InNewRoot(record.fields[0]).get(), mode) != 0 && errno != EEXIST) {
        fail("mkdir", record.fields[0]);
      }
      return;
    }
    case wire::PlanOp::kBind:
      return attach(g_sources[bind_index++], record.fields[1]);
    case wire::PlanOp::kTmpfs:
      return mount_tmpfs(record);
    case wire::PlanOp::kProc:
      return mount_proc(record.fields[0]);
    case wire::PlanOp::kTerminals:
      return mount_terminals(record.fields[0]);
    case wire::PlanOp::kMask:
      return mask(record.fields[0]);
    case wire::PlanOp::kShow:
      if (is_below(record.fields[1], kOwnMount)) return;
      return show(InNewRoot(record.fields[0]).get(), InNewRoot(record.fields[1]).get());
    case wire::PlanOp::kSymlink:
      must(::symlink(record.fields[0], InNewRoot(record.fields[1]).get()), "symlink",
           record.fields[1]);
      return;
    case wire::PlanOp::kFile:
      return write_new_file(record.fields[0], record.fields[1], O_CREAT | O_EXCL);
    case wire::PlanOp::kSysctl:
      return write_sysctl(record);
    case wire::PlanOp::kProtect:
    case wire::PlanOp::kBlock:
      return cover_in_folder(record, InNewRoot(record.fields[0]).get(),
                             InNewRoot("/dev/null").get());
    default:
      return;  // belongs to another step
  }
}

}  // namespace

void make_mounts_private() {
  // SLAVE, not PRIVATE: an unmount on the host still reaches us, so we pin none of its disks.
  must(::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr), "make mounts private");
}

void open_bind_sources(const Plan& plan) {
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  int count = 0;
  while (reader.next(record)) {
    if (record.op != wire::PlanOp::kBind) continue;
    if (count == wire::kPlanBindsMax) fail("too many binds in the plan");
    g_sources[count++] = clone_source(record);
  }
}

void build_root(const Plan& plan) {
  must(
      ::mount("tmpfs", kNewRoot, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,nr_inodes=4096,mode=0755"),
      "mount the root tmpfs (where AppArmor restricts user namespaces, see: hutch doctor)");
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  int bind_index = 0;
  while (reader.next(record)) carry_out(record, bind_index);
}

void close_further_user_namespaces() {
  // Holds even where the seccomp filter would not: creating a user namespace is ENOSPC from here.
  write_new_file("/proc/sys/user/max_user_namespaces", "0", 0);
}

void pivot_into_root() {
  must(::chdir(kNewRoot), "chdir to the new root");
  // The old root ends up mounted on top of the new one, and is then let go (pivot_root(2), NOTES).
  must(static_cast<int>(::syscall(SYS_pivot_root, ".", ".")), "pivot_root");
  must(::umount2(".", MNT_DETACH), "detach the host's tree");
  must(::chdir("/"), "chdir /");
}

void set_hostname(const Plan& plan) {
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  while (reader.next(record)) {
    if (record.op != wire::PlanOp::kHostname) continue;
    must(::sethostname(record.fields[0], std::strlen(record.fields[0])), "sethostname");
  }
}

void make_root_read_only(const Plan& plan) {
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  const MountAttributes read_only{MOUNT_ATTR_RDONLY};
  while (reader.next(record)) {
    if (record.op != wire::PlanOp::kReadOnly) continue;
    const char* path = record.fields[0];
    if (std::strcmp(path, "/") == 0) {
      must(set_mount_attributes(path, read_only), "make read-only", path);
      continue;
    }
    // A directory inside a mount (as /proc/sys in /proc) becomes a mount of its own first.
    const int fd =
        must(::open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), "open_tree", path);
    must(attach_mount(fd, AT_FDCWD, path, 0, read_only), "make read-only", path);
    must(::close(fd), "close");
    show_below(plan, path);
  }
}

int open_root_directory() {
  return must(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the box's root");
}

}  // namespace sandbox::init
