#include "sandbox/box/host_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <utility>

#include "sandbox/box/id_namespace.h"

namespace sandbox::box {
namespace {

using base::Error;
using wire::PlanOp;

// What programs of the host obey when their user works in the folder: repositories' hooks and
// configuration, editors, agents, shells.
constexpr const char* kProtected[] = {
    ".git",        ".gitconfig",   ".gitmodules",   ".vscode",  ".idea",    ".claude",
    ".cursor",     ".codex",       ".mcp.json",     ".envrc",   ".bashrc",  ".bash_profile",
    ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",   ".zshenv",
    ".zprofile",   ".zlogin",      ".zlogout",      ".kshrc",   ".cshrc",   ".tcshrc",
    ".login",      ".xprofile",    ".xsession",     ".xinitrc", ".inputrc", ".vimrc"};
// Repositories in the folder, and in folders in it. A tree that is larger than this is not searched
// to its end: it would take longer than anybody waits for a session.
constexpr int kDepthMax = 2;
constexpr int kEntriesMax = 10'000;
constexpr int kCoversMax = 64;

Error invalid(const std::string& message) { return base::error(Error::Kind::kInvalid, message); }

// Never through a link, nor out of the directory unless the path is absolute. Invalid with errno.
base::UniqueFd open_plainly(int directory, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<__u64>(flags | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (!path.starts_with('/')) how.resolve |= RESOLVE_BENEATH;
  return base::UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
}

base::Result<base::UniqueFd> open_folder(const HostFolder& folder) {
  base::UniqueFd fd = open_plainly(AT_FDCWD, folder.path, O_PATH | O_DIRECTORY);
  if (!fd.valid())
    return Error::from_errno("open the host folder " + folder.path, Error::Kind::kInvalid);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return Error::from_errno("fstat " + folder.path);
  if (status.st_dev != folder.device || status.st_ino != folder.inode) {
    return invalid("the host folder " + folder.path + " was replaced by another; try again");
  }
  return fd;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { (void)::closedir(directory); }
};

// What is to be covered in one folder.
class Covers {
 public:
  Covers(PlanWriter& plan, const HostFolder& folder) : plan_(plan), folder_(folder) {}

  base::Status add_blocked(int top) {
    for (const std::string& path : folder_.blocked) {
      const base::UniqueFd fd = open_plainly(top, path, O_PATH);
      if (!fd.valid()) {
        return invalid("blocked path " + place_of(folder_) + "/" + path +
                       " is not there, or a link leads to it: block what is there");
      }
      TRY(add(PlanOp::kBlock, fd.get(), path));
    }
    return base::done();
  }

  base::Status add_protected(base::UniqueFd top) {
    std::deque<Place> places;
    places.push_back({std::move(top), "", 0});
    while (!places.empty()) {
      const Place place = std::move(places.front());
      places.pop_front();
      TRY(protect_in(place));
      if (place.depth < kDepthMax) add_directories(place, places);
    }
    return base::done();
  }

 private:
  struct Place {
    base::UniqueFd fd;
    std::string prefix;  // empty, or with "/" at its end
    int depth;
  };

  base::Status add(PlanOp op, int fd, const std::string& path) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return Error::from_errno("fstat " + path);
    if (++count_ > kCoversMax) return base::done();
    plan_.add(op, {place_of(folder_), path, std::to_string(status.st_dev),
                   std::to_string(status.st_ino)});
    return base::done();
  }

  base::Status protect_in(const Place& place) {
    for (const char* name : kProtected) {
      struct stat status {};
      if (::fstatat(place.fd.get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      const std::string path = place.prefix + name;
      if (S_ISLNK(status.st_mode)) {
        // A mount cannot lie on a link, and the code could put another in its place.
        if (place.depth > 0) continue;
        return invalid(folder_.path + "/" + path +
                       " is a link, which cannot be kept as it is in a folder that is granted for "
                       "writing: grant the folder without :rw, or replace the link");
      }
      const base::UniqueFd fd = open_plainly(place.fd.get(), name, O_PATH);
      if (fd.valid()) TRY(add(PlanOp::kProtect, fd.get(), path));
    }
    return base::done();
  }

  void add_directories(const Place& place, std::deque<Place>& places) {
    base::UniqueFd fd = open_plainly(place.fd.get(), ".", O_RDONLY | O_DIRECTORY);
    const std::unique_ptr<DIR, CloseDirectory> entries(fd.valid() ? ::fdopendir(fd.get())
                                                                  : nullptr);
    if (!entries) return;
    (void)fd.release();  // the stream's by now
    // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of its own
    while (const dirent* entry = ::readdir(entries.get())) {
      if (++entries_ > kEntriesMax) return;
      const std::string name = entry->d_name;
      if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) || name.starts_with('.')) {
        continue;
      }
      base::UniqueFd directory = open_plainly(place.fd.get(), name, O_PATH | O_DIRECTORY);
      if (directory.valid()) {
        places.push_back({std::move(directory), place.prefix + name + "/", place.depth + 1});
      }
    }
  }

  PlanWriter& plan_;
  const HostFolder& folder_;
  int count_ = 0;
  int entries_ = 0;
};

base::Result<base::UniqueFd> make_host_mount(const HostFolder& folder, std::uint32_t uid) {
  const base::UniqueFd fd = TRY(open_folder(folder));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return Error::from_errno("fstat " + folder.path);
  const base::UniqueFd ids = TRY(make_id_namespace({status.st_uid, status.st_gid}, {uid, uid}));
  base::UniqueFd mount(
      ::open_tree(fd.get(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!mount.valid()) return Error::from_errno("open_tree " + folder.path);
  mount_attr attr{};
  attr.attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (!folder.writable) attr.attr_set |= MOUNT_ATTR_RDONLY;
  attr.propagation = MS_PRIVATE;
  attr.userns_fd = static_cast<__u64>(ids.get());
  if (::mount_setattr(mount.get(), "", AT_EMPTY_PATH, &attr, sizeof attr) == 0) return mount;
  if (errno != EINVAL && errno != EPERM) return Error::from_errno("mount " + folder.path);
  return base::error(Error::Kind::kUnsupported,
                     folder.path +
                         " cannot be granted: its file system, or this kernel, has no "
                         "mounts that map owners (idmapped mounts), which sessions with "
                         "ids of their own need");
}

}  // namespace

base::Status add_host_folders(PlanWriter& plan, const BoxSpec& spec) {
  if (!spec.host_folders.empty()) plan.add(PlanOp::kNoHostSockets, {});
  for (const HostFolder& folder : spec.host_folders) {
    base::UniqueFd top = TRY(open_folder(folder));
    std::string options = folder.writable ? "a" : "ar";
    if (spec.host_uid) options += "s";
    plan.add(PlanOp::kBind, {folder.path, place_of(folder), options, std::to_string(folder.device),
                             std::to_string(folder.inode)});
    Covers covers(plan, folder);
    TRY(covers.add_blocked(top.get()));
    if (folder.writable) TRY(covers.add_protected(std::move(top)));
  }
  return base::done();
}

base::Result<std::vector<base::UniqueFd>> make_host_mounts(const BoxSpec& spec) {
  std::vector<base::UniqueFd> mounts;
  if (!spec.host_uid) return mounts;
  for (const HostFolder& folder : spec.host_folders) {
    mounts.push_back(TRY(make_host_mount(folder, *spec.host_uid)));
  }
  return mounts;
}

base::Result<std::size_t> count_folder_mounts(pid_t init) {
  constexpr std::size_t kBytesMax = 1 << 20;
  const std::string path = "/proc/" + std::to_string(init) + "/mountinfo";
  const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, path, O_RDONLY));
  const std::string text = TRY(base::read_all(file.get(), kBytesMax));
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(" /mnt/", at)) != std::string::npos; ++at) {
    // The mount point is the fifth field; the fourth is the host's path.
    const std::size_t line = text.rfind('\n', at) + 1;
    if (std::count(text.begin() + static_cast<std::ptrdiff_t>(line),
                   text.begin() + static_cast<std::ptrdiff_t>(at), ' ') == 3) {
      ++count;
    }
  }
  return count;
}

}  // namespace sandbox::box
