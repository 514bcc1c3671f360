#include "sandbox/files/box_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "sandbox/files/box_path.h"
#include "sandbox/files/change_feed.h"
#include "sandbox/files/list_files.h"
#include "sandbox/files/open_in_root.h"
#include "sandbox/files/write_file.h"

namespace sandbox::files {

using base::Error;

namespace {

constexpr std::size_t kNamesBytesMax = 65'536;  // XATTR_LIST_MAX
constexpr std::size_t kValueBytesMax = 8'192;

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

base::Status check_options(const ListOptions& options) {
  if (options.max_entries < 1 || options.max_entries > kListEntriesMax) {
    return base::error(Error::Kind::kInvalid,
                       "max_entries must be from 1 to " + std::to_string(kListEntriesMax));
  }
  if (options.max_depth < 1 || options.max_depth > kListDepthMax) {
    return base::error(Error::Kind::kInvalid,
                       "max_depth must be from 1 to " + std::to_string(kListDepthMax));
  }
  return base::done();
}

// Descriptors that only stand for a file have no attributes; by this name the file itself has.
std::string name_of(const base::UniqueFd& place) {
  return "/proc/self/fd/" + std::to_string(place.get());
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

base::Result<WriteResult> BoxFiles::write(const std::string& path, std::string_view content,
                                          WriteMode mode, const std::optional<FileState>& expected,
                                          const Attributes& attributes) const {
  if (content.size() > kWriteBytesMax) {
    return base::error(Error::Kind::kLimit, "content is " + std::to_string(content.size()) +
                                                " bytes, at most " +
                                                std::to_string(kWriteBytesMax) +
                                                " are allowed: write in parts with mode append");
  }
  const ActingIds ids(identity_);
  TRY(ids.status());
  const std::string whole = TRY(absolute(path));
  if (names_directory(path)) return not_regular(whole, S_IFDIR, Purpose::kWrite);
  return write_file(root_.get(), whole, content, {mode, expected, attributes});
}

bool BoxFiles::is_in_host_folder(const std::string& path) const {
  const auto whole = absolute(path);
  if (!whole.ok() || !whole.value().starts_with("/mnt/")) return false;
  const ActingIds ids(identity_);
  if (!ids.status().ok()) return false;
  const base::UniqueFd there = open_without_links(root_.get(), whole.value(), O_PATH);
  return there.valid() || errno == ENOENT;
}

base::Status BoxFiles::make_directories(const std::string& path) const {
  const ActingIds ids(identity_);
  TRY(ids.status());
  std::string done;
  std::string_view rest = path;
  base::UniqueFd parent = open_without_links(root_.get(), "/", O_PATH | O_DIRECTORY);
  while (parent.valid() && !rest.empty()) {
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name.empty()) continue;
    done += "/" + name;
    if (::mkdirat(parent.get(), name.c_str(), 0755) != 0 && errno != EEXIST) break;
    parent = open_without_links(root_.get(), done, O_PATH | (rest.empty() ? 0 : O_DIRECTORY));
    if (parent.valid() && rest.empty()) return base::done();
  }
  return path_error(path, errno, Purpose::kWrite);
}

base::Result<ListResult> BoxFiles::list(const std::string& path, const ListOptions& wanted) const {
  TRY(check_options(wanted));
  const ActingIds ids(identity_);
  TRY(ids.status());
  const std::string whole = TRY(absolute(path));
  ListOptions options = wanted;
  if (!options.after.empty()) options.after = path_as_listed(options.after, working_directory_);
  return list_files(root_.get(), whole, options);
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

base::Status BoxFiles::make_link(const std::string& path, const std::string& text) const {
  const ActingIds ids(identity_);
  TRY(ids.status());
  return write_link(root_.get(), TRY(absolute(path)), text);
}

base::Result<Attributes> BoxFiles::attributes_of(const std::string& path, std::string_view prefix,
                                                 std::size_t bytes_max) const {
  const ActingIds ids(identity_);
  TRY(ids.status());
  const std::string whole = TRY(absolute(path));
  const base::UniqueFd place = open_in_root(root_.get(), whole, O_PATH | O_NOFOLLOW);
  if (!place.valid()) return path_error(whole, errno, Purpose::kRead);
  Attributes attributes;
  const std::string name_of_place = name_of(place);
  // A file system without attributes has none; a symbolic link has none either.
  const ssize_t about = ::listxattr(name_of_place.c_str(), nullptr, 0);
  if (about <= 0) return attributes;
  std::string names(kNamesBytesMax, '\0');
  const ssize_t size = ::listxattr(name_of_place.c_str(), names.data(), names.size());
  names.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < names.size();) {
    const std::string name = names.c_str() + at;
    at += name.size() + 1;
    if (!name.starts_with(prefix)) continue;
    std::array<char, kValueBytesMax> value{};
    const ssize_t got = ::getxattr(name_of_place.c_str(), name.c_str(), value.data(), value.size());
    if (got < 0) continue;  // it has gone, or is more than anybody shows
    bytes += name.size() + static_cast<std::size_t>(got);
    if (bytes > bytes_max) break;
    attributes[name.substr(prefix.size())].assign(value.data(), static_cast<std::size_t>(got));
  }
  return attributes;
}

base::Result<base::UniqueFd> BoxFiles::open(const std::string& path) const {
  const ActingIds ids(identity_);
  TRY(ids.status());
  const std::string whole = TRY(absolute(path));
  if (names_directory(path)) return not_regular(whole, S_IFDIR, Purpose::kRead);
  return open_regular(root_.get(), whole);
}

bool BoxFiles::follow(const std::string& name, const std::string& path, ChangeFeed& feed) const {
  const auto whole = absolute(path);
  return whole.ok() && feed.follow(name, root_.get(), identity_, whole.value());
}

}  // namespace sandbox::files
