#include "sandbox/files/directory_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/draft.h"
#include "sandbox/files/box_path.h"
#include "sandbox/files/open_in_root.h"
#include "sandbox/files/tree_walk.h"

namespace sandbox::files {

using base::Error;
using EventKind = DirectoryEvent::Kind;

namespace {

constexpr std::uint32_t kWatched = IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                   IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK;
constexpr int kReadsMost = 16;
// At most this many entries of directories are read in one start() or take(): a directory that is
// moved about is read again and again.
constexpr std::size_t kEntriesReadMax = 500'000;
constexpr std::size_t kEventsBytes = 64 * (sizeof(inotify_event) + NAME_MAX + 1);

std::string joined(const std::string& directory, const std::string& name) {
  return directory.empty() || name.empty() ? directory + name : directory + "/" + name;
}

Error no_watch(const char* what) {
  if (errno != ENOSPC && errno != EMFILE) return Error::from_errno(what);
  return base::error(Error::Kind::kLimit,
                     "this host lets its user watch no more: fs.inotify.max_user_instances and "
                     "max_user_watches of sysctl(8)");
}

}  // namespace

base::Result<std::unique_ptr<DirectoryWatch>> DirectoryWatch::start(int root_fd,
                                                                    const std::string& path,
                                                                    Depth depth) {
  const std::string resolved = TRY(resolve_path(root_fd, path));
  base::UniqueFd top = open_in_root(root_fd, resolved, O_PATH | O_DIRECTORY);
  if (!top.valid()) return path_error(resolved, errno, Purpose::kList);
  base::UniqueFd inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify.valid()) return no_watch("inotify_init1");
  std::unique_ptr<DirectoryWatch> watch(
      new DirectoryWatch(std::move(inotify), std::move(top), depth));
  TRY(watch->add(""));
  watch->add_waiting();
  if (watch->entries_read_ > kEntriesReadMax) {
    return base::error(Error::Kind::kLimit,
                       resolved + " has too many entries to be looked through: watch a part of it");
  }
  if (!watch->has_too_many_) return watch;
  return base::error(Error::Kind::kLimit, resolved + " has more than " +
                                              std::to_string(kDirectoriesMax) +
                                              " directories: watch one of them");
}

base::Status DirectoryWatch::add(const std::string& name) {
  const base::UniqueFd directory = name.empty()
                                       ? TRY(base::duplicate(top_.get()))
                                       : open_without_links(top_.get(), name, O_PATH | O_DIRECTORY);
  if (!directory.valid()) return Error::from_errno("open " + name);
  const std::string path = "/proc/self/fd/" + std::to_string(directory.get());
  const int watch = ::inotify_add_watch(inotify_.get(), path.c_str(), kWatched);
  if (watch < 0) return no_watch("inotify_add_watch");
  names_[watch] = name;
  if (depth_ == Depth::kOne) return base::done();
  // Directories may have been made in it before it was watched.
  DirectoryReader entries(directory.get());
  while (const dirent* entry = entries.valid() ? entries.next() : nullptr) {
    if (++entries_read_ > kEntriesReadMax) break;
    if (entry->d_type == DT_DIR) wait_with(joined(name, entry->d_name));
  }
  return base::done();
}

void DirectoryWatch::wait_with(std::string name) {
  // It may be found and told of.
  if (std::ranges::find(waiting_, name) != waiting_.end()) return;
  has_too_many_ = has_too_many_ || names_.size() + waiting_.size() >= kDirectoriesMax;
  if (!has_too_many_) waiting_.push_back(std::move(name));
}

// Not by recursion: a tree may be as deep as the code likes.
void DirectoryWatch::add_waiting() {
  while (!waiting_.empty()) {
    const std::string name = std::move(waiting_.back());
    waiting_.pop_back();
    // It may have gone meanwhile, or be closed to us: then nothing of it is told.
    (void)add(name);
  }
}

// Returns whether the change is about a file of hutch's own, which has a name of ours or, in the
// words of inotify, that of its number.
bool DirectoryWatch::is_of_draft(const Change& change, const std::string& path) {
  if (change.name.starts_with(base::Draft::kNamePrefix)) {
    if ((change.mask & IN_MOVED_FROM) != 0) draft_cookie_ = change.cookie;
    return true;
  }
  const bool is_number = change.name.size() > 1 && change.name.front() == '#' &&
                         std::all_of(change.name.begin() + 1, change.name.end(),
                                     [](char letter) { return letter >= '0' && letter <= '9'; });
  return is_number && (change.mask & (IN_ATTRIB | IN_MODIFY)) != 0 &&
         !open_without_links(top_.get(), path, O_PATH).valid();
}

bool DirectoryWatch::has_content(const std::string& path) const {
  const base::UniqueFd there = open_without_links(top_.get(), path, O_PATH);
  struct stat status {};
  return there.valid() && ::fstat(there.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_size > 0;
}

void DirectoryWatch::read_event(int watch, const Change& change,
                                std::vector<DirectoryEvent>& events) {
  const auto known = names_.find(watch);
  if (known == names_.end()) return;
  if ((change.mask & IN_IGNORED) != 0) {
    names_.erase(known);
    return;
  }
  if (change.name.empty()) return;  // it is about the directory itself
  const std::string path = joined(known->second, change.name);
  if (is_of_draft(change, path)) return;
  const auto tell = [&events, &path](EventKind kind) {
    const std::string name = shown_path(path);
    const bool is_told =
        !events.empty() && events.back().name == name && events.back().kind == kind;
    if (!is_told) events.push_back({name, kind});
  };
  const bool has_come = (change.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
  const bool is_directory = (change.mask & IN_ISDIR) != 0;
  if (has_come && is_directory && depth_ == Depth::kAll) wait_with(path);
  if (has_come && change.cookie != 0 && change.cookie == draft_cookie_) {
    tell(EventKind::kWrite);  // over what was there
  } else if (has_come) {
    tell(EventKind::kCreate);
    // It was linked complete, or the event of its writing follows, which is told once.
    if ((change.mask & IN_CREATE) != 0 && has_content(path)) tell(EventKind::kWrite);
  } else if ((change.mask & IN_DELETE) != 0) {
    tell(EventKind::kRemove);
  } else if ((change.mask & IN_MOVED_FROM) != 0) {
    tell(EventKind::kRename);
  } else {
    tell((change.mask & IN_ATTRIB) != 0 ? EventKind::kChmod : EventKind::kWrite);
  }
}

base::Result<std::vector<DirectoryEvent>> DirectoryWatch::take() {
  std::vector<DirectoryEvent> events;
  alignas(inotify_event) std::array<char, kEventsBytes> buffer;
  entries_read_ = 0;
  // Code may write faster than this reads.
  for (int reads = 0; reads < kReadsMost; ++reads) {
    const ssize_t got = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return events;
    if (got < 0) return Error::from_errno("read of inotify");
    std::size_t at = 0;
    while (at < static_cast<std::size_t>(got)) {
      inotify_event head;
      std::memcpy(&head, buffer.data() + at, sizeof head);
      const char* name = buffer.data() + at + sizeof head;
      at += sizeof head + head.len;
      if ((head.mask & IN_Q_OVERFLOW) != 0) {
        return base::error(Error::Kind::kLimit, "more changed than could be kept: watch anew");
      }
      read_event(head.wd, {head.mask, head.cookie, head.len > 0 ? std::string(name) : ""}, events);
    }
    add_waiting();
    if (entries_read_ > kEntriesReadMax) {
      return base::error(Error::Kind::kLimit, "more came than could be looked through: watch anew");
    }
    if (has_too_many_) {
      return base::error(Error::Kind::kLimit, "it has come to have more than " +
                                                  std::to_string(kDirectoriesMax) +
                                                  " directories: watch one of them");
    }
  }
  return events;
}

}  // namespace sandbox::files
