#include "sandbox/box/host_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "sandbox/box/id_namespace.h"
#include "sandbox/box/obeyed_files.h"

namespace sandbox::box {
namespace {

using base::Error;
using wire::PlanOp;

// Repositories in the folder, and in folders in it. A tree that is larger than this is not searched
// to its end: it would take longer than anybody waits for a session.
constexpr int kNestingMax = 2;
constexpr int kEntriesMax = 10'000;
constexpr int kListedMost = 500;  // in one directory: more cost more than looking for each name
// All that has such a name at the top is covered, whatever code has made there, and some below it.
constexpr int kCoversMax = 64 + std::size(kObeyedFiles) + std::size(kObeyedInShared);

// Never through a link, nor out of the directory unless the path is absolute. Invalid with errno.
base::UniqueFd open_plainly(int directory, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<__u64>(flags | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (!path.starts_with('/')) how.resolve |= RESOLVE_BENEATH;
  return base::UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
}

// Where a folder is on the host is for box.log: what is replied may reach a client far away.
void log_path(const HostFolder& folder) {
  (void)std::fprintf(stderr, "hutch-box: %s is %s\n", place_of(folder).c_str(),
                     folder.path.c_str());
}

Error changing(const HostFolder& folder) {
  log_path(folder);
  return base::invalid(place_of(folder) + " is being changed on the host: try again");
}

base::Result<base::UniqueFd> open_folder(const HostFolder& folder) {
  base::UniqueFd fd = open_plainly(AT_FDCWD, folder.path, O_PATH | O_DIRECTORY);
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) {
    Error error = Error::from_errno("open " + place_of(folder), Error::Kind::kInvalid);
    log_path(folder);
    return error;
  }
  if (status.st_dev != folder.device || status.st_ino != folder.inode) {
    log_path(folder);
    return base::invalid(place_of(folder) + " was replaced by another folder; try again");
  }
  return fd;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { (void)::closedir(directory); }
};

// Found lists what is to be protected in one directory. Only ENOENT says that something is not
// there: a directory that its owner has closed for now may hold all of it, and box code can open it
// again.
struct Found {
  std::vector<std::string> names;
  std::vector<std::string> links;  // a mount cannot lie on one, and code could put in another
  int error = 0;                   // errno: it cannot be told
};

// Returns false with errno when it cannot be told.
bool add_if_there(int directory, const ObeyedFile& file, const std::string& prefix, Found& found) {
  struct stat status {};
  if (::fstatat(directory, file.name.data(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT;
  }
  const std::string name = prefix + std::string(file.name);
  if (!S_ISLNK(status.st_mode)) {
    found.names.push_back(name);
  } else if (file.links == ObeyedFile::Links::kNarrow) {
    found.links.push_back(name);
  }
  return true;
}

void add_shared(int directory, Found& found) {
  const std::string name(kSharedDirectory);
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) found.error = errno;
    return;
  }
  if (S_ISLNK(status.st_mode)) found.links.push_back(name);
  if (!S_ISDIR(status.st_mode)) return;
  const base::UniqueFd shared = open_plainly(directory, name, O_PATH | O_DIRECTORY);
  if (!shared.valid()) {
    found.error = errno;
    return;
  }
  for (const ObeyedFile& file : kObeyedInShared) {
    if (add_if_there(shared.get(), file, name + "/", found)) continue;
    found.names.push_back(name);  // its owner, whom code may be, could open it again
    return;
  }
}

Found find_protected(int directory) {
  Found found;
  for (const ObeyedFile& file : kObeyedFiles) {
    if (add_if_there(directory, file, "", found)) continue;
    found.error = errno;
    return found;
  }
  add_shared(directory, found);
  return found;
}

// Null with errno.
std::unique_ptr<DIR, CloseDirectory> list_directory(int directory) {
  base::UniqueFd fd = open_plainly(directory, ".", O_RDONLY | O_DIRECTORY);
  std::unique_ptr<DIR, CloseDirectory> entries(fd.valid() ? ::fdopendir(fd.get()) : nullptr);
  if (entries) (void)fd.release();  // the stream's by now
  return entries;
}

const ObeyedFile* find_obeyed(std::string_view name) {
  static const std::map<std::string_view, const ObeyedFile*> kByName = [] {
    std::map<std::string_view, const ObeyedFile*> all;
    for (const ObeyedFile& file : kObeyedFiles) all[file.name] = &file;
    return all;
  }();
  const auto found = kByName.find(name);
  return found == kByName.end() ? nullptr : found->second;
}

// Below the top there may be thousands of directories: one listing of each says sooner than a look
// for every name what is there.
Found find_protected_below(int directory) {
  Found found;
  struct stat status {};
  if (::fstatat(directory, kObeyedFiles[0].name.data(), &status, AT_SYMLINK_NOFOLLOW) != 0 &&
      errno != ENOENT) {
    found.error = errno;  // nobody may search it
    return found;
  }
  const auto entries = list_directory(directory);
  if (!entries) return find_protected(directory);
  bool has_shared = false;
  int count = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of its own
  while (const dirent* entry = ::readdir(entries.get())) {
    if (++count > kListedMost) return find_protected(directory);
    has_shared = has_shared || entry->d_name == kSharedDirectory;
    const ObeyedFile* const file = find_obeyed(entry->d_name);
    if (file != nullptr && !add_if_there(directory, *file, "", found)) found.error = errno;
  }
  if (has_shared) add_shared(directory, found);
  return found;
}

// Why nothing could be kept as it is in the folder if code might write to it, and what helps.
std::string reason_to_narrow(int top) {
  const Found found = find_protected(top);
  if (found.error != 0 || !list_directory(top)) {
    return "what is in it cannot be looked at; chmod u+rwx it on the host";
  }
  if (!found.links.empty()) {
    return found.links.front() + " in it is a link; remove it, or put there what it leads to";
  }
  return "";
}

// Adds to the plan what is to be covered in one folder.
class Covers {
 public:
  // `code_uid`: which id's files on the host the box's code has the owner's rights over.
  Covers(PlanWriter& plan, const HostFolder& folder, int top, uid_t code_uid)
      : plan_(plan), folder_(folder), top_(top), code_uid_(code_uid) {}

  base::Status add_blocked() {
    for (const std::string& path : folder_.blocked) {
      const std::string shown = "blocked path " + place_of(folder_) + "/" + path;
      const base::UniqueFd fd = open_plainly(top_, path, O_PATH);
      if (!fd.valid() && errno == EACCES) {
        return base::invalid(shown + " cannot be reached: chmod u+rwx the folders that it is in");
      }
      if (!fd.valid()) {
        return base::invalid(shown + " is not there, or a link leads to it: block what is there");
      }
      TRY(add(PlanOp::kBlock, fd.get(), path));
    }
    return base::done();
  }

  base::Status add_protected() {
    std::deque<Place> places;
    places.push_back({"", 0});
    while (!places.empty()) {
      const Place place = std::move(places.front());
      places.pop_front();
      TRY(look_into(place, places));
    }
    return base::done();
  }

 private:
  // By path: as many descriptors as code can make directories are not to be had.
  struct Place {
    std::string path;  // empty: the folder itself
    int depth;
  };

  static std::string join(const Place& place, const std::string& name) {
    return place.path.empty() ? name : place.path + "/" + name;
  }

  base::Status add(PlanOp op, int fd, const std::string& path) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return Error::from_errno("fstat " + path);
    if (++count_ > kCoversMax) return base::done();
    plan_.add(op, {place_of(folder_), path, std::to_string(status.st_dev),
                   std::to_string(status.st_ino)});
    return base::done();
  }

  base::Status look_into(const Place& place, std::deque<Place>& places) {
    base::UniqueFd below;
    if (place.depth > 0) {
      below = open_plainly(top_, place.path, O_PATH | O_DIRECTORY);
      if (!below.valid()) {
        // Gone meanwhile, or what was of an unknown kind is no directory.
        if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return base::done();
        return changing(folder_);
      }
    }
    const int directory = place.depth > 0 ? below.get() : top_;
    const Found found =
        place.depth > 0 ? find_protected_below(directory) : find_protected(directory);
    const bool deeper = place.depth < kNestingMax;
    const auto entries = found.error == 0 && deeper ? list_directory(directory) : nullptr;
    if (found.error != 0 || (deeper && !entries)) return protect_closed(directory, place);
    // Else it would have been narrowed.
    if (place.depth == 0 && !found.links.empty()) return changing(folder_);
    for (const std::string& name : found.names) {
      const base::UniqueFd fd = open_plainly(directory, name, O_PATH);
      if (!fd.valid()) return changing(folder_);
      TRY(add(PlanOp::kProtect, fd.get(), join(place, name)));
    }
    if (entries) add_directories(*entries, place, places);
    return base::done();
  }

  // The directory as a whole is protected: its owner, whom code is, could open it again. That of
  // somebody else is as closed to code.
  base::Status protect_closed(int directory, const Place& place) {
    if (place.depth == 0) return changing(folder_);
    struct stat status {};
    if (::fstat(directory, &status) != 0) return Error::from_errno("fstat " + place.path);
    if (status.st_uid != code_uid_) return base::done();
    return add(PlanOp::kProtect, directory, place.path);
  }

  void add_directories(DIR& entries, const Place& place, std::deque<Place>& places) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of its own
    while (const dirent* entry = ::readdir(&entries)) {
      if (++entries_ > kEntriesMax) return;
      const std::string name = entry->d_name;
      if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) || name.starts_with('.')) {
        continue;
      }
      places.push_back({join(place, name), place.depth + 1});
    }
  }

  PlanWriter& plan_;
  const HostFolder& folder_;
  const int top_;
  const uid_t code_uid_;
  int count_ = 0;
  int entries_ = 0;
};

base::Result<base::UniqueFd> make_host_mount(const HostFolder& folder, std::uint32_t uid) {
  const base::UniqueFd fd = TRY(open_folder(folder));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return Error::from_errno("fstat " + place_of(folder));
  const base::UniqueFd ids = TRY(make_id_namespace({status.st_uid, status.st_gid}, {uid, uid}));
  base::UniqueFd mount(
      ::open_tree(fd.get(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!mount.valid()) return Error::from_errno("open_tree " + place_of(folder));
  mount_attr attr{};
  attr.attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (!folder.writable) attr.attr_set |= MOUNT_ATTR_RDONLY;
  attr.propagation = MS_PRIVATE;
  attr.userns_fd = static_cast<__u64>(ids.get());
  if (::mount_setattr(mount.get(), "", AT_EMPTY_PATH, &attr, sizeof attr) == 0) return mount;
  if (errno != EINVAL && errno != EPERM && errno != ENOSYS)
    return Error::from_errno("mount " + place_of(folder));
  log_path(folder);
  return base::error(Error::Kind::kUnsupported,
                     place_of(folder) +
                         " cannot be granted: its file system, or this kernel, has no "
                         "mounts that map owners (idmapped mounts), which sessions with "
                         "ids of their own need");
}

}  // namespace

base::Status narrow_host_folders(BoxSpec& spec) {
  for (HostFolder& folder : spec.host_folders) {
    if (!folder.writable) continue;
    const base::UniqueFd top = TRY(open_folder(folder));
    const std::string reason = reason_to_narrow(top.get());
    if (reason.empty()) continue;
    log_path(folder);
    folder.writable = false;
    base::append_part(spec.note,
                      place_of(folder) + " is read-only: " + reason + ", then start a new session",
                      "; ");
  }
  return base::done();
}

base::Status add_host_folders(PlanWriter& plan, const BoxSpec& spec) {
  if (!spec.host_folders.empty()) plan.add(PlanOp::kNoHostSockets, {});
  for (const HostFolder& folder : spec.host_folders) {
    const base::UniqueFd top = TRY(open_folder(folder));
    struct stat status {};
    if (::fstat(top.get(), &status) != 0) return Error::from_errno("fstat " + place_of(folder));
    std::string options = folder.writable ? "a" : "ar";
    if (spec.host_uid) options += "s";
    plan.add(PlanOp::kBind, {folder.path, place_of(folder), options, std::to_string(folder.device),
                             std::to_string(folder.inode)});
    // As root the folder's owner is mapped to the session's id.
    Covers covers(plan, folder, top.get(), spec.host_uid ? status.st_uid : ::geteuid());
    TRY(covers.add_blocked());
    if (folder.writable) TRY(covers.add_protected());
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
