#include "share/share_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/draft.h"
#include "base/fd.h"

namespace share {

using base::Error;

namespace {

constexpr std::size_t kCompareBytes = 256 * 1024;

Error failed(const std::string& what, int os_errno) {
  errno = os_errno;
  return Error::from_errno(what, Error::Kind::kUnavailable);
}

// It may be a link to where the person wants it; in /tmp somebody else could have put one there.
base::Result<base::UniqueFd> open_or_make(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed("make it", errno);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return failed("look at it", errno);
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return base::error(Error::Kind::kInvalid, "it belongs to another user");
  }
  const bool is_link = S_ISLNK(status.st_mode);
  base::UniqueFd folder(
      ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | (is_link ? 0 : O_NOFOLLOW)));
  if (!folder.valid()) return failed("open it", errno);
  return folder;
}

base::Result<std::int64_t> size_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return failed("stat", errno);
  return static_cast<std::int64_t>(status.st_size);
}

bool same_content(int one_fd, int other_fd, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += static_cast<std::int64_t>(kCompareBytes)) {
    const auto one = base::read_at(one_fd, at, kCompareBytes);
    const auto other = base::read_at(other_fd, at, kCompareBytes);
    if (!one.ok() || !other.ok() || one.value() != other.value()) return false;
  }
  return true;
}

enum class Entry { kAbsent, kSame, kOther };

// Returns what has the name: only a regular file that can be read is ever kSame.
Entry look(int folder_fd, const std::string& name, int stored_fd, std::int64_t bytes) {
  const base::UniqueFd file(
      ::openat(folder_fd, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) {
    // A name that is too long here is reported by who tries to make it.
    return errno == ENOENT || errno == ENAMETOOLONG ? Entry::kAbsent : Entry::kOther;
  }
  struct stat status {};
  const bool is_alike =
      ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size == bytes;
  return is_alike && same_content(stored_fd, file.get(), bytes) ? Entry::kSame : Entry::kOther;
}

}  // namespace

std::size_t extension_at(std::string_view filename) {
  const std::size_t dot = filename.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return filename.size();
  constexpr std::string_view kArchive = ".tar";
  const std::string_view stem = filename.substr(0, dot);
  const bool is_archive = stem.size() > kArchive.size() && stem.ends_with(kArchive);
  return is_archive ? dot - kArchive.size() : dot;
}

std::string numbered_filename(const std::string& filename, int number) {
  if (number == 1) return filename;
  const std::size_t dot = extension_at(filename);
  return filename.substr(0, dot) + " (" + std::to_string(number) + ")" + filename.substr(dot);
}

base::Result<std::string> ShareFolder::put(int stored_fd, const std::string& filename) const {
  const base::UniqueFd folder = TRY(open_or_make(path_));
  const std::int64_t bytes = TRY(size_of(stored_fd));
  base::Draft draft(folder.get());
  bool copied = false;
  for (int number = 1; number <= kSameNameMax; ++number) {
    const std::string name = numbered_filename(filename, number);
    const auto found = [&] { return look(folder.get(), name, stored_fd, bytes); };
    Entry entry = found();
    if (entry == Entry::kAbsent && !copied) {
      const int failure = draft.copy(stored_fd, bytes, 0666 & ~user_umask_);
      if (failure != 0) return failed("copy", failure);
      copied = true;
    }
    if (entry == Entry::kAbsent) {
      const int failure = draft.publish_new(name);
      if (failure != 0 && failure != EEXIST) return failed("make " + name, failure);
      // Somebody was faster, perhaps with the same.
      entry = failure == 0 ? Entry::kSame : found();
    }
    if (entry == Entry::kSame) return path_ + "/" + name;
  }
  return base::error(Error::Kind::kLimit, "it has " + std::to_string(kSameNameMax) +
                                              " files of that name: move some elsewhere");
}

}  // namespace share
