// Extended attributes of files, as setfattr(1) of the session sets and sees them. xattr(7).
#include <fcntl.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "sandbox/files/box_files.h"
#include "sandbox/files/open_in_root.h"

namespace sandbox::files {
namespace {

constexpr std::size_t kNamesBytesMax = 65'536;  // XATTR_LIST_MAX
constexpr std::size_t kValueBytesMax = 8'192;
constexpr std::size_t kAttributesMax = 100;

// Descriptors that only stand for a file have no attributes; by this name the file itself has.
std::string name_of(const base::UniqueFd& place) {
  return "/proc/self/fd/" + std::to_string(place.get());
}

base::Error attribute_error(const std::string& path, int failure) {
  if (failure == ENOTSUP) {
    return base::error(base::Error::Kind::kUnsupported,
                       path + ": this file system keeps no metadata of files");
  }
  if (failure == ENOSPC || failure == EDQUOT || failure == E2BIG || failure == ERANGE) {
    return base::error(base::Error::Kind::kLimit,
                       path + ": its metadata is more than this file system keeps of a file");
  }
  return path_error(path, failure, Purpose::kWrite);
}

}  // namespace

base::Result<std::map<std::string, std::string>> BoxFiles::attributes_of(
    const std::string& path, std::string_view prefix) const {
  const ActingIds ids(identity_);
  TRY(ids.status());
  const std::string whole = TRY(absolute(path));
  const base::UniqueFd place = open_in_root(root_.get(), whole, O_PATH | O_NOFOLLOW);
  if (!place.valid()) return path_error(whole, errno, Purpose::kRead);
  std::map<std::string, std::string> attributes;
  std::string names(kNamesBytesMax, '\0');
  const ssize_t size = ::listxattr(name_of(place).c_str(), names.data(), names.size());
  // A file system without attributes has none; a symbolic link has none either.
  names.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  for (std::size_t at = 0; at < names.size() && attributes.size() < kAttributesMax;) {
    const std::string name = names.c_str() + at;
    at += name.size() + 1;
    if (!name.starts_with(prefix)) continue;
    std::array<char, kValueBytesMax> value{};
    const ssize_t got =
        ::getxattr(name_of(place).c_str(), name.c_str(), value.data(), value.size());
    if (got < 0) continue;  // it has gone, or is more than anybody shows
    attributes[name.substr(prefix.size())].assign(value.data(), static_cast<std::size_t>(got));
  }
  return attributes;
}

base::Status BoxFiles::set_attributes(const std::string& path,
                                      const std::map<std::string, std::string>& attributes) const {
  const ActingIds ids(identity_);
  TRY(ids.status());
  const std::string whole = TRY(absolute(path));
  const base::UniqueFd place = open_in_root(root_.get(), whole, O_PATH);
  if (!place.valid()) return path_error(whole, errno, Purpose::kWrite);
  for (const auto& [name, value] : attributes) {
    if (::setxattr(name_of(place).c_str(), name.c_str(), value.data(), value.size(), 0) != 0) {
      return attribute_error(whole, errno);
    }
  }
  return base::done();
}

}  // namespace sandbox::files
