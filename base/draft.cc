#include "base/draft.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/random_id.h"

namespace base {

namespace {

constexpr std::size_t kCopyBytes = 256 * 1024;

std::string new_name() { return random_id(Draft::kNamePrefix); }

int failure_of(int result) { return result == 0 ? 0 : errno; }

}  // namespace

Draft::~Draft() {
  if (!name_.empty()) (void)::unlinkat(directory_fd_, name_.c_str(), 0);
}

int Draft::open() {
  file_ = UniqueFd(::openat(directory_fd_, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (file_.valid()) return 0;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return errno;
  std::string name = new_name();
  file_ = UniqueFd(::openat(directory_fd_, name.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_.valid()) return errno;
  name_ = std::move(name);
  return 0;
}

int Draft::fill(std::string_view content, mode_t mode) {
  if (const int failure = open(); failure != 0) return failure;
  if (const int failure = append(content); failure != 0) return failure;
  return failure_of(::fchmod(file_.get(), mode));
}

int Draft::append(std::string_view content) {
  const auto written = write_all(file_.get(), content);
  return written.ok() ? 0 : written.error().os_errno;
}

int Draft::copy(int source_fd, std::int64_t bytes, mode_t mode) {
  if (const int failure = open(); failure != 0) return failure;
  off_t done = 0;
  while (done < bytes) {
    const auto left = static_cast<std::size_t>(bytes - done);
    // Moves both positions. What it cannot do between two file systems, reading and writing can.
    if (::copy_file_range(source_fd, &done, file_.get(), nullptr, left, 0) > 0) continue;
    const auto piece = read_at(source_fd, done, std::min(left, kCopyBytes));
    if (!piece.ok()) return piece.error().os_errno;
    if (piece.value().empty()) return EIO;
    const auto written = write_all(file_.get(), piece.value());
    if (!written.ok()) return written.error().os_errno;
    done += static_cast<off_t>(piece.value().size());
  }
  // It is ours: only a file system that knows no modes says EPERM.
  if (::fchmod(file_.get(), mode) != 0 && errno != EPERM) return errno;
  return failure_of(::fsync(file_.get()));
}

int Draft::set_attributes(const std::map<std::string, std::string>& attributes) const {
  for (const auto& [name, value] : attributes) {
    if (::fsetxattr(file_.get(), name.c_str(), value.data(), value.size(), 0) == 0) continue;
    const bool is_too_much = errno == ENOSPC || errno == EDQUOT || errno == ERANGE;
    return is_too_much ? E2BIG : errno;
  }
  return 0;
}

int Draft::give_to(uid_t id) { return failure_of(::fchown(file_.get(), id, id)); }

int Draft::link_as(const std::string& name) const {
  const std::string ours = "/proc/self/fd/" + std::to_string(file_.get());
  return failure_of(
      ::linkat(AT_FDCWD, ours.c_str(), directory_fd_, name.c_str(), AT_SYMLINK_FOLLOW));
}

int Draft::publish_new(const std::string& name) {
  if (name_.empty()) return link_as(name);
  const int failure = failure_of(
      ::renameat2(directory_fd_, name_.c_str(), directory_fd_, name.c_str(), RENAME_NOREPLACE));
  // NFS cannot, but has links; the draft's own name goes with the draft.
  if (failure == EINVAL) {
    return failure_of(::linkat(directory_fd_, name_.c_str(), directory_fd_, name.c_str(), 0));
  }
  if (failure == 0) name_.clear();
  return failure;
}

int Draft::publish_over(const std::string& name) {
  if (name_.empty()) {
    std::string own = new_name();
    if (const int failure = link_as(own); failure != 0) return failure;
    name_ = std::move(own);
  }
  const int failure =
      failure_of(::renameat(directory_fd_, name_.c_str(), directory_fd_, name.c_str()));
  if (failure == 0) name_.clear();
  return failure;
}

}  // namespace base
