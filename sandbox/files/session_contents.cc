#include "sandbox/files/session_contents.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "base/text.h"
#include "sandbox/files/open_in_root.h"
#include "sandbox/files/tree_walk.h"
#include "sandbox/session_parts.h"

namespace sandbox::files {
namespace {

// More of them are nothing that a library keeps for itself.
constexpr int kCacheFilesMax = 1000;
// These are of no worth: a box and its servers leave them, or they end with the box. What it has
// asked of the network is taken over into the database before it is removed.
constexpr std::array<std::string_view, 6> kOfNoWorth{
    kLockPart, kBoxSocketPart, kBoxLogPart, kTmpPart, kRunsPart, kDroppedOutputsPart};

bool is_of_no_worth(std::string_view name) {
  return name.starts_with(kNetworkJournalPrefix) ||
         std::find(kOfNoWorth.begin(), kOfNoWorth.end(), name) != kOfNoWorth.end();
}

// Calls `look` with the name of each entry until it says that there is something.
template <class Look>
bool any_entry(int directory_fd, const Look& look) {
  DirectoryReader reader(directory_fd);
  if (!reader.valid()) return true;
  errno = 0;
  while (const dirent* entry = reader.next()) {
    if (look(std::string(entry->d_name))) return true;
    errno = 0;
  }
  return errno != 0;
}

// `look` with the directory of that name in it, if there is an entry of that name.
template <class Look>
bool in_directory(int parent_fd, const std::string& name, const Look& look) {
  const base::UniqueFd directory = open_entry(parent_fd, name, O_PATH | O_DIRECTORY, Mounts::kStay);
  return !directory.valid() || look(directory.get());
}

bool has_entry(int directory_fd) {
  return any_entry(directory_fd, [](const std::string&) { return true; });
}

// Files, no directories: as matplotlib and fontconfig keep there what they would find again.
bool holds_more_than_caches(int directory_fd) {
  int files = 0;
  return any_entry(directory_fd, [&](const std::string& name) {
    struct stat status {};
    return ++files > kCacheFilesMax ||
           ::fstatat(directory_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
           !S_ISREG(status.st_mode);
  });
}

// These directories may lie in a home without being anybody's. A rule stands for a directory, and
// the rules below it for what that may have; an entry without a rule is something.
struct HomeRule {
  std::string_view path;  // below the home
  bool has_files;
};
constexpr std::array<HomeRule, 9> kHomeRules{{{".cache", false},
                                              {".cache/matplotlib", true},
                                              {".cache/fontconfig", true},
                                              {".config", false},
                                              {".config/matplotlib", false},
                                              {".local", false},
                                              {".local/lib", false},
                                              {".local/share", false},
                                              {".local/share/hutch", false}}};

bool home_holds_something(int directory_fd, const std::string& prefix) {
  return any_entry(directory_fd, [&](const std::string& name) {
    const std::string path = prefix + name;
    const auto* const rule =
        std::find_if(kHomeRules.begin(), kHomeRules.end(),
                     [&path](const HomeRule& known) { return known.path == path; });
    if (rule == kHomeRules.end()) return true;
    return in_directory(directory_fd, name, [&](int fd) {
      return rule->has_files ? holds_more_than_caches(fd) : home_holds_something(fd, path + "/");
    });
  });
}

// The first and the last line of a copy are its number. One that says no more than a new shell
// knows has a line before the last that says so.
struct ShellCopy {
  std::int64_t number = 0;  // 0: it is not there, or not whole
  bool is_plain = false;
};

ShellCopy look_at_shell_copy(int state_fd, const char* name) {
  constexpr std::string_view kPlain = "\n# plain";
  constexpr std::size_t kEndBytes = 64;
  const auto file = base::open_file(state_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status {};
  if (!file.ok() || ::fstat(file.value().get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};
  }
  const off_t end_at = std::max<off_t>(0, status.st_size - static_cast<off_t>(kEndBytes));
  const auto head = base::read_at(file.value().get(), 0, kEndBytes);
  const auto end = base::read_at(file.value().get(), end_at, kEndBytes);
  if (!head.ok() || !end.ok()) return {};
  const std::string first = head.value().substr(0, head.value().find('\n'));
  if (!first.starts_with('#') || !end.value().ends_with("\n" + first + "\n")) return {};
  ShellCopy copy;
  copy.number = base::number_of<std::int64_t>(std::string_view(first).substr(1)).value_or(0);
  copy.is_plain = end.value().ends_with(std::string(kPlain) + "\n" + first + "\n");
  return copy;
}

}  // namespace

bool holds_shell_state(int state_fd) {
  ShellCopy newest;
  for (const char* name : kShellCopies) {
    const ShellCopy copy = look_at_shell_copy(state_fd, name);
    if (copy.number > newest.number) newest = copy;
  }
  return newest.number > 0 && !newest.is_plain;
}

bool may_hold_something(int session_fd) {
  bool has_workspace = false;
  bool has_home = false;
  const bool something = any_entry(session_fd, [&](const std::string& name) {
    if (is_of_no_worth(name)) return false;
    if (name == kStatePart) {
      return in_directory(session_fd, name, [](int fd) {
        return any_entry(fd,
                         [](const std::string& entry) {
                           return entry == "python" || entry == "javascript";
                         }) ||
               holds_shell_state(fd);
      });
    }
    if (name == kWorkspacePart || name == kUploadsPart || name == kCallsPart) {
      has_workspace = has_workspace || name == kWorkspacePart;
      return in_directory(session_fd, name, has_entry);
    }
    if (name != kHomePart) return true;
    has_home = true;
    return in_directory(session_fd, name, [](int fd) { return home_holds_something(fd, ""); });
  });
  // Without them it is not what hutch has made.
  return something || !has_workspace || !has_home;
}

}  // namespace sandbox::files
