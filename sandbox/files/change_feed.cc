#include "sandbox/files/change_feed.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "sandbox/files/box_files.h"
#include "sandbox/files/box_path.h"
#include "sandbox/files/open_in_root.h"

namespace sandbox::files {

namespace {

// Every watch hears these events: a directory or file has only one watch, whatever it is for.
constexpr std::uint32_t kHeard = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY |
                                 IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_EXCL_UNLINK;
// A directory has gone, or is elsewhere: its entries have gone with it.
constexpr std::uint32_t kGone = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;
constexpr std::size_t kReadBytes = 64 << 10;
constexpr int kReadsMax = 64;  // at once: code can make events as fast as we read them

bool is_link(int directory_fd, const std::string& entry) {
  struct stat status {};
  return ::fstatat(directory_fd, entry.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(status.st_mode);
}

// Returns whether the errno means that something is not there: it can come only as an entry of the
// last directory that is.
bool is_absence(int failure) { return failure == ENOENT || failure == ENOTDIR; }

}  // namespace

ChangeFeed::ChangeFeed() : inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

bool ChangeFeed::follow(const std::string& name, int root_fd, const Identity& identity,
                        const std::string& path) {
  const ActingIds ids(identity);
  if (!valid() || !ids.status().ok()) return false;
  const auto absolute = resolve_path(root_fd, path);
  if (!absolute.ok()) return false;
  Way way = find_way(root_fd, absolute.value());
  put(name, way.places);
  return way.whole;
}

ChangeFeed::Way ChangeFeed::find_way(int root_fd, const std::string& path) {
  Way way;
  // From the top, and each directory watched before the next one is opened: whatever is replaced
  // meanwhile has been heard of.
  base::UniqueFd directory = open_in_root(root_fd, "/", O_PATH | O_DIRECTORY);
  for (std::size_t begin = 1; begin < path.size();) {
    if (!directory.valid()) {
      way.whole = way.whole && is_absence(errno);
      return way;
    }
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string entry = path.substr(begin, end - begin);
    if (!add_place(way, directory.get(), entry)) return way;
    // Where a link leads to has a name of its own, in directories that are not watched.
    if (is_link(directory.get(), entry)) way.whole = false;
    if (end == path.size()) break;
    directory = open_in_root(root_fd, path.substr(0, end), O_PATH | O_DIRECTORY);
    begin = end + 1;
  }
  // Itself too: it may have other names, and a directory has entries.
  const base::UniqueFd file = open_in_root(root_fd, path, O_PATH);
  if (file.valid()) {
    add_place(way, file.get(), "");
  } else {
    way.whole = way.whole && is_absence(errno);
  }
  return way;
}

bool ChangeFeed::add_place(Way& way, int path_fd, const std::string& entry) {
  int watch = -1;
  if (!is_kernel_filesystem(path_fd)) {
    const std::string proc_path = "/proc/self/fd/" + std::to_string(path_fd);
    watch = ::inotify_add_watch(inotify_.get(), proc_path.c_str(), kHeard);
  }
  if (watch >= 0 && !names_.contains(watch)) {
    if (names_.size() >= kFeedWatchesMax) {
      (void)::inotify_rm_watch(inotify_.get(), watch);
      watch = -1;
    } else {
      names_[watch];
    }
  }
  if (watch < 0) return way.whole = false;
  way.places.emplace(watch, entry);
  return true;
}

void ChangeFeed::put(const std::string& name, const std::set<Place>& places) {
  for (const auto& [watch, entry] : places) names_[watch][entry].insert(name);
  const std::set<Place> before = std::exchange(followed_[name], places);
  for (const Place& place : before) {
    const auto known = names_.find(place.first);
    if (places.contains(place) || known == names_.end()) continue;
    auto& names = known->second[place.second];
    names.erase(name);
    if (names.empty()) known->second.erase(place.second);
    leave_unused(place.first);
  }
}

void ChangeFeed::forget(const std::string& name) {
  put(name, {});
  followed_.erase(name);
}

void ChangeFeed::leave_unused(int watch) {
  const auto known = names_.find(watch);
  if (known == names_.end() || !known->second.empty()) return;
  names_.erase(known);
  (void)::inotify_rm_watch(inotify_.get(), watch);
}

std::set<std::string> ChangeFeed::take() {
  std::set<std::string> names;
  alignas(inotify_event) std::array<char, kReadBytes> buffer{};
  for (int i = 0; i < kReadsMax; ++i) {
    const ssize_t got = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (got <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* entry = buffer.data() + at + sizeof event;
      hear(event, event.len > 0 ? std::string(entry, ::strnlen(entry, event.len)) : "", names);
      at += sizeof event + event.len;
    }
  }
  return names;
}

void ChangeFeed::hear(const inotify_event& event, const std::string& entry,
                      std::set<std::string>& names) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    for (const auto& [name, places] : followed_) names.insert(name);
    return;
  }
  const auto watch = names_.find(event.wd);
  if (watch == names_.end()) return;
  const bool all = (event.mask & kGone) != 0;
  for (const auto& [watched_entry, its_names] : watch->second) {
    if (all || watched_entry.empty() || watched_entry == entry) {
      names.insert(its_names.begin(), its_names.end());
    }
  }
  // The kernel has taken it away; the next follow() finds what is there now.
  if ((event.mask & IN_IGNORED) != 0) names_.erase(watch);
}

}  // namespace sandbox::files
