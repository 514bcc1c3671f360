// Paths as clients give them and as we show them. Text only, but for resolve_path().
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sandbox::files {

inline constexpr std::string_view kHome = "/home/user";
inline constexpr std::size_t kPathBytesMax = 4095;  // PATH_MAX without its NUL

// Returns a client's path made absolute: relative ones go from `from`, an absolute one. Empty and
// "." parts go; ".." parts go too, unless the directory in front of them is a link, which only the
// kernel can resolve. "~" in front is the home directory. An escaped path (see below) of what is
// there means that. kInvalid for what no path can be: empty, too long, with a NUL byte, not UTF-8.
base::Result<std::string> resolve_path(int root_fd, const std::string& given,
                                       const std::string& from = "/workspace");

// Returns a path that begins with "~", as a shell's words do, as one that begins with the home
// directory of the box; any other as it is.
std::string with_home(const std::string& path);

// Returns the path of an entry as it was shown, made absolute as text alone: nothing need be there
// any more, and it may be longer than what can be opened.
std::string path_as_listed(const std::string& shown, const std::string& from);

// Returns true for a path that can only mean a directory: it ends in "/", "." or "..".
bool names_directory(const std::string& path);

// A SplitPath is everything but the last component, and that component. "/" has no parent:
// kInvalid.
struct SplitPath {
  std::string parent;
  std::string name;
};
base::Result<SplitPath> split_path(const std::string& absolute);

bool is_utf8(std::string_view text);

// Returns a path with a name that is no UTF-8, made showable and reversible: each such byte becomes
// \xHH and each backslash \\, as in Python's b"" and bash's $''.
std::string escape_path(std::string_view path);

// Returns the one form in which a path is shown: as it is, or escaped where it is no UTF-8.
// resolve_path() takes it back.
std::string shown_path(std::string_view path);

}  // namespace sandbox::files
