#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "sandbox/files/box_files.h"
#include "sandbox/files/box_path.h"
#include "sandbox/files/open_in_root.h"

namespace sandbox::files {

using base::Error;

namespace {

// Looks before it opens for real: opening a pipe can wait, opening a device can act.
base::Result<base::UniqueFd> open_regular(int root_fd, const std::string& path) {
  const base::UniqueFd found = open_in_root(root_fd, path, O_PATH);
  if (!found.valid()) return path_error(path, errno, Purpose::kRead);
  struct stat status {};
  if (::fstat(found.get(), &status) != 0) return path_error(path, errno, Purpose::kRead);
  if (is_kernel_filesystem(found.get())) return of_the_kernel(path, Purpose::kRead);
  if (!S_ISREG(status.st_mode)) return not_regular(path, status.st_mode, Purpose::kRead);
  base::UniqueFd file = reopen(found.get(), O_RDONLY);
  if (!file.valid()) return path_error(path, errno, Purpose::kRead);
  return file;
}

base::Status check_range(std::int64_t offset, std::int64_t limit) {
  if (offset < 0) return base::error(Error::Kind::kInvalid, "offset must be 0 or more");
  if (limit < 1 || limit > kReadBytesMax) {
    return base::error(Error::Kind::kInvalid,
                       "limit must be from 1 to " + std::to_string(kReadBytesMax) + " bytes");
  }
  return base::done();
}

}  // namespace

base::Result<ReadResult> BoxFiles::read(const std::string& path, std::int64_t offset,
                                        std::int64_t limit) const {
  TRY(check_range(offset, limit));
  const ActingIds ids(identity_);
  TRY(ids.status());
  ReadResult result;
  result.path = TRY(absolute(path));
  if (names_directory(path)) return not_regular(result.path, S_IFDIR, Purpose::kRead);
  const base::UniqueFd file = TRY(open_regular(root_.get(), result.path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return path_error(result.path, errno, Purpose::kRead);
  if (offset > status.st_size) {
    return base::error(Error::Kind::kInvalid, result.path + ": offset " + std::to_string(offset) +
                                                  " is beyond the end; the file has " +
                                                  std::to_string(status.st_size) + " bytes");
  }
  const std::int64_t wanted = std::min<std::int64_t>(limit, status.st_size - offset);
  result.content = TRY(base::read_at(file.get(), offset, static_cast<std::size_t>(wanted)));
  result.offset = offset;
  const auto got = static_cast<std::int64_t>(result.content.size());
  result.state = state_of(status);
  // It was cut shorter while we read.
  result.total_bytes = got < wanted ? offset + got : status.st_size;
  return result;
}

base::Result<struct stat> BoxFiles::status_of(const std::string& path) const {
  const ActingIds ids(identity_);
  TRY(ids.status());
  const std::string whole = TRY(absolute(path));
  const base::UniqueFd place = open_in_root(root_.get(), whole, O_PATH);
  struct stat status {};
  if (!place.valid() || ::fstat(place.get(), &status) != 0) {
    return path_error(whole, errno, Purpose::kRead);
  }
  return status;
}

base::Result<std::string> BoxFiles::link_text_of(const std::string& path) const {
  const ActingIds ids(identity_);
  TRY(ids.status());
  const std::string whole = TRY(absolute(path));
  const base::UniqueFd place = open_in_root(root_.get(), whole, O_PATH | O_NOFOLLOW);
  std::array<char, kPathBytesMax + 1> text{};
  const ssize_t size =
      place.valid() ? ::readlinkat(place.get(), "", text.data(), text.size() - 1) : -1;
  return std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

base::Result<std::string> BoxFiles::link_target_of(const std::string& path) const {
  const std::string text = TRY(link_text_of(path));
  if (text.empty()) return text;
  const ActingIds ids(identity_);
  TRY(ids.status());
  if (text.starts_with('/')) return resolve_path(root_.get(), text);
  const std::string whole = TRY(absolute(path));
  return resolve_path(root_.get(), TRY(split_path(whole)).parent + "/" + text);
}

base::Result<base::UniqueFd> BoxFiles::open(const std::string& path) const {
  const ActingIds ids(identity_);
  TRY(ids.status());
  const std::string whole = TRY(absolute(path));
  if (names_directory(path)) return not_regular(whole, S_IFDIR, Purpose::kRead);
  return open_regular(root_.get(), whole);
}

}  // namespace sandbox::files
