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

// Descriptors that only stand for a file have no attributes; by this name the file itself has.
std::string name_of(const base::UniqueFd& place) {
  return "/proc/self/fd/" + std::to_string(place.get());
}

}  // namespace

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

}  // namespace sandbox::files
