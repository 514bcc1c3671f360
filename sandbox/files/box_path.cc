#include "sandbox/files/box_path.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "sandbox/files/open_in_root.h"

namespace sandbox::files {
namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (const std::string_view part : base::split(path, '/')) {
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  return parts;
}

std::string path_of(const std::vector<std::string>& parts) { return "/" + base::join(parts, "/"); }

std::vector<std::string> without_dots(const std::vector<std::string>& parts) {
  std::vector<std::string> result;
  for (const std::string& part : parts) {
    if (part != "..") {
      result.push_back(part);
    } else if (!result.empty()) {
      result.pop_back();
    }
  }
  return result;
}

std::string parent_of(const std::string& absolute) {
  return absolute.substr(0, std::max<std::size_t>(absolute.rfind('/'), 1));
}

// The length of the character at `at`, 0 when it is no UTF-8 (RFC 3629: shortest form, no
// surrogates, nothing above U+10FFFF).
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const std::uint8_t first = byte(at);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(at + i) < low || byte(at + i) > high) return 0;
    low = 0x80;
    high = 0xBF;
  }
  return size;
}

// -1 when `text` does not begin with \xHH.
int escaped_byte(std::string_view text) {
  if (text.size() < 4 || !text.starts_with("\\x")) return -1;
  return base::number_of<int>(text.substr(2, 2), 16).value_or(-1);
}

// Undoes escape_path(). Text that escape_path() never makes stays as it is.
std::string unescape_path(std::string_view shown) {
  std::string path;
  while (!shown.empty()) {
    const int byte = escaped_byte(shown);
    if (byte >= 0) {
      path += static_cast<char>(byte);
      shown.remove_prefix(4);
    } else {
      if (shown.starts_with("\\\\")) shown.remove_prefix(1);
      path += shown.front();
      shown.remove_prefix(1);
    }
  }
  return path;
}

// The path that a client means: its words, or where only that exists, the path with a name that is
// no UTF-8 that was shown to it with these words.
std::string meant_path(int root_fd, const std::string& path, const std::string& from) {
  if (path.find("\\x") == std::string::npos) return path;
  const std::string other = unescape_path(path);
  const auto exists = [root_fd, &from](const std::string& name) {
    const std::string whole = name.front() == '/' ? name : from + "/" + name;
    return open_in_root(root_fd, whole, O_PATH | O_NOFOLLOW).valid();
  };
  if (is_utf8(other) || other.find('\0') != std::string::npos) return path;
  return !exists(path) && exists(other) ? other : path;
}

// Replaces /mnt/data by /workspace: what is kept of a file, such as that it changed, is kept under
// one name.
std::vector<std::string> by_its_own_name(std::vector<std::string> parts) {
  if (parts.size() < 2 || parts[0] != "mnt" || parts[1] != "data") return parts;
  parts.erase(parts.begin());
  parts.front() = "workspace";
  return parts;
}

}  // namespace

base::Result<std::string> resolve_path(int root_fd, const std::string& given,
                                       const std::string& from) {
  if (given.empty()) {
    return base::invalid("path must not be empty; relative paths start at " + from);
  }
  if (given.find('\0') != std::string::npos) return base::invalid("path must not hold a NUL byte");
  if (!is_utf8(given)) {
    return base::invalid("path must be UTF-8; list_files shows files of other names as \\xHH");
  }
  const std::string path = meant_path(root_fd, with_home(given), from);
  const std::vector<std::string> parts =
      by_its_own_name(parts_of(path.front() == '/' ? path : from + "/" + path));
  const std::string typed = path_of(parts);
  if (typed.size() > kPathBytesMax) return base::invalid("path is longer than 4095 bytes");
  const std::string plain = path_of(without_dots(parts));
  if (plain == typed) return typed;
  // "link/.." is the parent of where the link leads, which only the kernel knows. Where both ways
  // end in one directory, the plain text is nicer to show.
  const bool ends_in_dots = parts.back() == "..";
  const auto directory_of = [&](const std::string& whole) {
    return open_in_root(root_fd, ends_in_dots ? whole : parent_of(whole), O_PATH | O_DIRECTORY);
  };
  const base::UniqueFd as_typed = directory_of(typed);
  if (!as_typed.valid()) return plain;
  const base::UniqueFd as_plain = directory_of(plain);
  struct stat a {};
  struct stat b {};
  const bool same = as_plain.valid() && ::fstat(as_typed.get(), &a) == 0 &&
                    ::fstat(as_plain.get(), &b) == 0 && same_file(a, b);
  return same ? plain : typed;
}

std::string with_home(const std::string& path) {
  if (path != "~" && !path.starts_with("~/")) return path;
  return std::string(kHome) + path.substr(1);
}

std::string path_as_listed(const std::string& shown, const std::string& from) {
  const std::string whole = shown.starts_with('/') ? shown : from + "/" + shown;
  const std::string path = path_of(parts_of(whole));
  if (path.find("\\x") == std::string::npos) return path;
  std::string unescaped = unescape_path(path);
  return is_utf8(unescaped) ? path : unescaped;
}

bool names_directory(const std::string& path) {
  return path.ends_with('/') || path == "." || path == ".." || path.ends_with("/.") ||
         path.ends_with("/..");
}

base::Result<SplitPath> split_path(const std::string& absolute) {
  const std::size_t slash = absolute.rfind('/');
  if (slash == std::string::npos || slash + 1 == absolute.size()) {
    return base::invalid(absolute + ": is a directory; name a file in it");
  }
  return SplitPath{parent_of(absolute), absolute.substr(slash + 1)};
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character_bytes(text, at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

std::string shown_path(std::string_view path) {
  return is_utf8(path) ? std::string(path) : escape_path(path);
}

std::string escape_path(std::string_view path) {
  static constexpr std::array<char, 16> kDigits = {'0', '1', '2', '3', '4', '5', '6', '7',
                                                   '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'};
  std::string shown;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t size = character_bytes(path, at);
    if (size == 0) {
      const auto byte = static_cast<std::uint8_t>(path[at++]);
      shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else if (path[at] == '\\') {
      shown += "\\\\";
      ++at;
    } else {
      shown += path.substr(at, size);
      at += size;
    }
  }
  return shown;
}

}  // namespace sandbox::files
