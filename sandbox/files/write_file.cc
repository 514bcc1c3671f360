#include "sandbox/files/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/draft.h"
#include "base/random_id.h"
#include "sandbox/files/box_path.h"
#include "sandbox/files/open_in_root.h"

namespace sandbox::files {

using base::Error;

namespace {

using Expected = std::optional<FileState>;

constexpr int kParentDirectory = O_PATH | O_DIRECTORY;
constexpr mode_t kFileMode = 0644;
constexpr mode_t kDirectoryMode = 0755;
constexpr int kLinksMax = 40;     // as the kernel's MAXSYMLINKS
constexpr int kAttemptsMax = 16;  // when others make and remove the same name meanwhile

Error write_error(const std::string& path, int failure) {
  if (failure == ENOTSUP) {
    return base::error(Error::Kind::kUnsupported,
                       path + ": this file system keeps no metadata of files");
  }
  if (failure == E2BIG) {
    return base::error(Error::Kind::kLimit,
                       path + ": its metadata is more than this file system keeps of a file");
  }
  return path_error(path, failure, Purpose::kWrite);
}

// One directory below `parent`, made if it is not there.
base::Result<base::UniqueFd> make_directory(const base::UniqueFd& parent, const std::string& name,
                                            const std::string& path) {
  const bool made = ::mkdirat(parent.get(), name.c_str(), kDirectoryMode) == 0;
  if (!made && errno != EEXIST) return write_error(path, errno);
  base::UniqueFd directory = open_entry(parent.get(), name, kParentDirectory, Mounts::kCross);
  if (!directory.valid()) return write_error(path, errno);
  // The umask is the server's own business.
  if (made) (void)change_mode(directory.get(), kDirectoryMode);
  return directory;
}

// Opens the directory `path`, making what is missing of it.
base::Result<base::UniqueFd> make_directories(int root_fd, const std::string& path) {
  std::string present = path;
  base::UniqueFd directory = open_in_root(root_fd, present, kParentDirectory);
  while (!directory.valid()) {
    if (errno != ENOENT || present == "/") return write_error(path, errno);
    present = TRY(split_path(present)).parent;
    directory = open_in_root(root_fd, present, kParentDirectory);
  }
  std::size_t start = present == "/" ? 1 : present.size() + 1;
  while (start < path.size()) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    directory = TRY(make_directory(directory, path.substr(start, end - start), path));
    start = end + 1;
  }
  return directory;
}

// Where a write goes, links followed as the code would follow them.
struct Target {
  base::UniqueFd parent;
  std::string name;
  bool exists = false;
  bool by_link = false;
  struct stat status {};
};

base::Result<Target> look_at(base::UniqueFd parent, const std::string& name,
                             const std::string& path) {
  Target target;
  target.parent = std::move(parent);
  target.name = name;
  if (is_kernel_filesystem(target.parent.get())) return of_the_kernel(path, Purpose::kWrite);
  target.exists =
      ::fstatat(target.parent.get(), name.c_str(), &target.status, AT_SYMLINK_NOFOLLOW) == 0;
  if (!target.exists && errno != ENOENT) return write_error(path, errno);
  return target;
}

base::Result<Target> find_target(int root_fd, const std::string& path) {
  SplitPath at = TRY(split_path(path));
  base::UniqueFd parent = TRY(make_directories(root_fd, at.parent));
  for (int links = 0; links <= kLinksMax; ++links) {
    Target target = TRY(look_at(std::move(parent), at.name, path));
    target.by_link = links > 0;
    if (!target.exists || S_ISREG(target.status.st_mode)) return target;
    if (!S_ISLNK(target.status.st_mode)) {
      return not_regular(path, target.status.st_mode, Purpose::kWrite);
    }
    char text[kPathBytesMax + 1];
    const ssize_t size = ::readlinkat(target.parent.get(), at.name.c_str(), text, sizeof text);
    if (size < 0) return write_error(path, errno);
    std::string link(text, static_cast<std::size_t>(size));
    if (!link.starts_with('/')) link.insert(0, at.parent + "/");
    if (names_directory(link)) return not_regular(path, S_IFDIR, Purpose::kWrite);
    at = TRY(split_path(link));
    parent = open_in_root(root_fd, at.parent, kParentDirectory);
    if (!parent.valid()) return write_error(path, errno);
  }
  return write_error(path, ELOOP);
}

base::Status already_there(const std::string& path) {
  return base::error(Error::Kind::kConflict,
                     path + ": exists already; use mode overwrite or append, or another path");
}

// Zero, or errno with nothing left of the content.
int append_to(int fd, std::string_view content, std::int64_t before) {
  const auto written = base::write_all(fd, content);
  if (written.ok()) return 0;
  // Half a record would be worse than none. Nobody but the session can have added to it since.
  if (::ftruncate(fd, before) != 0) return errno;
  return written.error().os_errno;
}

// These say what became of one attempt: zero or errno. EEXIST, ENOENT or ELOOP mean that the name
// came, went or changed after target was looked at.
int append_once(const Target& target, std::string_view content, WriteResult& result) {
  const base::UniqueFd found = open_entry(target.parent.get(), target.name, O_PATH, Mounts::kCross);
  struct stat status {};
  if (!found.valid() || ::fstat(found.get(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EEXIST;
  const base::UniqueFd file = reopen(found.get(), O_WRONLY | O_APPEND);
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return errno;
  result.previous_bytes = status.st_size;
  result.bytes = status.st_size + static_cast<std::int64_t>(content.size());
  return append_to(file.get(), content, status.st_size);
}

// The file is a mount of its own (an allowed or blocked host file). A rename would not write to it
// but take the mount away: rename(2) minds only the mounts of our own namespace.
int overwrite_mounted(const Target& target, std::string_view content, const Expected& expected,
                      const Attributes& attributes) {
  if (!attributes.empty()) return ENOTSUP;  // it is the host's
  const base::UniqueFd found = open_entry(target.parent.get(), target.name, O_PATH, Mounts::kCross);
  struct stat status {};
  if (!found.valid() || ::fstat(found.get(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EEXIST;
  if (expected && state_of(status) != *expected) return ESTALE;
  const base::UniqueFd file = reopen(found.get(), O_WRONLY | O_TRUNC);
  if (!file.valid()) return errno;
  const auto written = base::write_all(file.get(), content);
  return written.ok() ? 0 : written.error().os_errno;
}

// Right before it is replaced: filling the draft takes its time.
bool is_as(const Target& target, const Expected& expected) {
  struct stat status {};
  if (!expected) return true;
  return ::fstatat(target.parent.get(), target.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         state_of(status) == *expected;
}

int fill(base::Draft& draft, std::string_view content, mode_t mode, const Attributes& attributes) {
  const int failure = draft.fill(content, mode);
  return failure != 0 ? failure : draft.set_attributes(attributes);
}

int overwrite_once(const Target& target, std::string_view content, const Expected& expected,
                   const Attributes& attributes) {
  const base::UniqueFd found = open_entry(target.parent.get(), target.name, O_PATH, Mounts::kStay);
  if (!found.valid()) {
    return errno == EXDEV ? overwrite_mounted(target, content, expected, attributes) : errno;
  }
  // A rename would also replace a file that its owner made read-only.
  if (::faccessat(target.parent.get(), target.name.c_str(), W_OK,
                  AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0) {
    return errno;
  }
  base::Draft draft(target.parent.get());
  const int failure = fill(draft, content, target.status.st_mode & 0777, attributes);
  if (failure != 0) return failure;
  return is_as(target, expected) ? draft.publish_over(target.name) : ESTALE;
}

int create_once(const Target& target, std::string_view content, const Attributes& attributes) {
  base::Draft draft(target.parent.get());
  const int failure = fill(draft, content, kFileMode, attributes);
  return failure != 0 ? failure : draft.publish_new(target.name);
}

int write_once(const Target& target, std::string_view content, const HowToWrite& how,
               WriteResult& result) {
  if (how.expected && !target.exists) return ESTALE;
  result.bytes = static_cast<std::int64_t>(content.size());
  result.previous_bytes = target.exists ? target.status.st_size : 0;
  result.change = target.exists ? "modified" : "created";
  if (!target.exists) return create_once(target, content, how.attributes);
  if (how.mode == WriteMode::kAppend) return append_once(target, content, result);
  return overwrite_once(target, content, how.expected, how.attributes);
}

}  // namespace

base::Result<WriteResult> write_file(int root_fd, const std::string& path, std::string_view content,
                                     const HowToWrite& how) {
  WriteResult result;
  result.path = path;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const Target target = TRY(find_target(root_fd, result.path));
    if (how.mode == WriteMode::kCreate && (target.exists || target.by_link)) {
      TRY(already_there(result.path));
    }
    const int failure = write_once(target, content, how, result);
    if (failure == 0) return result;
    if (failure == ESTALE && how.expected) {
      return base::error(Error::Kind::kUnavailable,
                         result.path + " was changed meanwhile: read it again");
    }
    // Made by another after we looked: with kCreate that is the answer, else we look again.
    if (failure == EEXIST && how.mode == WriteMode::kCreate) TRY(already_there(result.path));
    if (failure != EEXIST && failure != ENOENT && failure != ELOOP) {
      return write_error(result.path, failure);
    }
  }
  return write_error(result.path, EAGAIN);
}

base::Status write_link(int root_fd, const std::string& whole, const std::string& text) {
  const SplitPath at = TRY(split_path(whole));
  base::UniqueFd opened = open_without_links(root_fd, at.parent, kParentDirectory);
  if (!opened.valid()) return write_error(whole, errno);
  const Target target = TRY(look_at(std::move(opened), at.name, whole));
  const base::UniqueFd& parent = target.parent;
  if (target.exists && !S_ISREG(target.status.st_mode) && !S_ISLNK(target.status.st_mode)) {
    return already_there(whole);
  }
  // A mount of its own would be taken away by a rename, as for overwrite_mounted().
  const auto found = open_entry(parent.get(), at.name, O_PATH | O_NOFOLLOW, Mounts::kStay);
  if (!found.valid() && errno == EXDEV) return already_there(whole);
  const std::string draft = base::short_id(base::Draft::kNamePrefix);
  if (::symlinkat(text.c_str(), parent.get(), draft.c_str()) != 0) {
    return write_error(whole, errno);
  }
  if (::renameat(parent.get(), draft.c_str(), parent.get(), at.name.c_str()) == 0) {
    return base::done();
  }
  const int failure = errno;
  (void)::unlinkat(parent.get(), draft.c_str(), 0);
  return write_error(whole, failure);
}

}  // namespace sandbox::files
