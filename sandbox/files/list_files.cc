#include "sandbox/files/list_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <queue>

#include "sandbox/files/box_path.h"
#include "sandbox/files/open_in_root.h"
#include "sandbox/files/tree_walk.h"

namespace sandbox::files {

using base::Error;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeMax{5};
constexpr std::size_t kSeenMax = 2'000'000;
// Paths kept, and names of directories still to be entered with the paths of those that are open,
// in memory at one time.
constexpr std::size_t kPathBytesKeptMax = 8 << 20;
constexpr std::size_t kWaitingNamesBytesMax = 16 << 20;

// The code of a box sets times as it likes, on some file systems to any number.
std::int64_t to_ms(const timespec& time) {
  constexpr std::int64_t kSecondsMax = 253'402'300'799;  // the end of the year 9999
  const auto seconds = std::clamp<std::int64_t>(time.tv_sec, 0, kSecondsMax);
  return seconds * 1000 + time.tv_nsec / 1'000'000;
}

const char* type_of(mode_t mode) {
  if (S_ISREG(mode)) return "file";
  if (S_ISDIR(mode)) return "directory";
  return S_ISLNK(mode) ? "symlink" : "other";
}

bool by_path(const ListEntry& a, const ListEntry& b) { return a.path < b.path; }

// Keeps the first entries by path of however many it is offered.
class FirstEntries {
 public:
  explicit FirstEntries(std::size_t max_entries) : max_entries_(max_entries) {}

  // False when `path`, and so whatever begins with it, comes after all there is room for.
  [[nodiscard]] bool has_room_for(const std::string& path) const {
    return !full_ || path < heap_.front().path;
  }
  [[nodiscard]] bool dropped_some() const { return dropped_some_; }
  void note_dropped() { dropped_some_ = true; }

  void add(ListEntry entry) {
    path_bytes_ += entry.path.size();
    heap_.push_back(std::move(entry));
    std::push_heap(heap_.begin(), heap_.end(), by_path);
    while (heap_.size() > max_entries_ || (path_bytes_ > kPathBytesKeptMax && heap_.size() > 1)) {
      std::pop_heap(heap_.begin(), heap_.end(), by_path);
      path_bytes_ -= heap_.back().path.size();
      heap_.pop_back();
      dropped_some_ = true;
      full_ = true;
    }
    full_ = full_ || heap_.size() == max_entries_;
  }

  std::vector<ListEntry> take() {
    std::sort_heap(heap_.begin(), heap_.end(), by_path);
    return std::move(heap_);
  }

 private:
  std::size_t max_entries_;
  std::size_t path_bytes_ = 0;
  std::vector<ListEntry> heap_;  // the last by path in front
  bool full_ = false;
  bool dropped_some_ = false;
};

class Lister {
 public:
  Lister(base::UniqueFd top, std::string path, const ListOptions& options)
      : walk_(std::move(top), Mounts::kCross),
        options_(options),
        entries_(options.max_entries),
        deadline_(Clock::now() + kTimeMax) {
    levels_.push_back({path == "/" ? std::string() : std::move(path), {}});
  }

  // The error of reading the top, if any.
  int list(ListResult& result) {
    const int failure = read_here();
    while (failure == 0 && !out_of_bounds_) {
      Level& level = levels_.back();
      if (!level.waiting.empty()) {
        enter_next(level);
      } else if (walk_.depth() == 0) {
        break;
      } else {
        leave();
      }
    }
    result.entries = entries_.take();
    const bool lacks_some_between = cut_ || out_of_bounds_ || walk_.lost_place();
    result.truncated = lacks_some_between || entries_.dropped_some();
    result.goes_on = entries_.dropped_some() && !lacks_some_between;
    result.lacks_some = out_of_bounds_ || walk_.lost_place();
    result.has_more_behind = entries_.dropped_some();
    return failure;
  }

 private:
  struct Level {
    std::string path;
    std::vector<std::string> waiting;  // directories to be entered, last first
  };

  void enter_next(Level& level) {
    const std::string name = std::move(level.waiting.back());
    level.waiting.pop_back();
    waiting_bytes_ -= name.size();
    std::string path = level.path + "/" + name;
    if (!has_asked_for_below(path)) return;
    if (!entries_.has_room_for(path)) {
      entries_.note_dropped();
      return;
    }
    const dev_t device = walk_.device();
    if (!walk_.down(name)) return;
    waiting_bytes_ += path.size();
    levels_.push_back({std::move(path), {}});
    if (walk_.device() != device && is_kernel_filesystem(walk_.fd())) return;
    (void)read_here();
  }

  // False where all that is in this directory comes before what is asked for.
  [[nodiscard]] bool has_asked_for_below(const std::string& directory) const {
    const std::string first = directory + "/";
    return first > options_.after || options_.after.starts_with(first);
  }

  void leave() {
    walk_.up();
    while (levels_.size() > walk_.depth() + 1) {
      for (const std::string& name : levels_.back().waiting) waiting_bytes_ -= name.size();
      waiting_bytes_ -= levels_.back().path.size();
      levels_.pop_back();
    }
  }

  // Zero or errno.
  int read_here() {
    DirectoryReader reader(walk_.fd());
    if (!reader.valid()) return reader.failure();
    Level& level = levels_.back();
    while (const dirent* entry = reader.next()) {
      look_at(level, *entry);
      const bool time_is_up = ++seen_ % 256 == 0 && Clock::now() > deadline_;
      out_of_bounds_ = time_is_up || seen_ >= kSeenMax || waiting_bytes_ > kWaitingNamesBytesMax;
      if (out_of_bounds_) break;
    }
    std::sort(level.waiting.begin(), level.waiting.end(), std::greater<>());
    return 0;
  }

  void look_at(Level& level, const dirent& dirent_entry) {
    const std::string name = dirent_entry.d_name;
    ListEntry entry;
    entry.path = level.path + "/" + name;
    if (!entries_.has_room_for(entry.path)) {
      // Without a filter it would have been one more; with one, nobody knows without asking.
      entries_.note_dropped();
      return;
    }
    struct stat status {};
    if (::fstatat(walk_.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (S_ISDIR(status.st_mode) && options_.recursive) {
      if (walk_.depth() + 1 < options_.max_depth) {
        level.waiting.push_back(name);
        waiting_bytes_ += name.size();
      } else {
        cut_ = true;
      }
    }
    if (!options_.after.empty() && entry.path <= options_.after) return;
    if (options_.changed_since_ms && to_ms(status.st_ctim) < *options_.changed_since_ms) return;
    entry.type = type_of(status.st_mode);
    entry.bytes = status.st_size;
    entry.modified_at_ms = to_ms(status.st_mtim);
    entry.mode = status.st_mode & 07777;
    entries_.add(std::move(entry));
  }

  TreeWalk walk_;
  const ListOptions& options_;
  FirstEntries entries_;
  Clock::time_point deadline_;
  std::vector<Level> levels_;
  std::size_t waiting_bytes_ = 0;
  std::size_t seen_ = 0;
  bool cut_ = false;            // deeper than asked for
  bool out_of_bounds_ = false;  // time, number or memory
};

void make_showable(ListResult& result) {
  for (ListEntry& entry : result.entries) {
    entry.escaped = !is_utf8(entry.path);
    if (entry.escaped) entry.path = escape_path(entry.path);
  }
}

}  // namespace

base::Result<ListResult> list_files(int root_fd, const std::string& path,
                                    const ListOptions& options) {
  ListResult result;
  result.path = path;
  base::UniqueFd top = open_in_root(root_fd, result.path, O_PATH);
  if (!top.valid()) return path_error(result.path, errno, Purpose::kList);
  struct stat status {};
  if (::fstat(top.get(), &status) != 0) return path_error(result.path, errno, Purpose::kList);
  if (is_kernel_filesystem(top.get())) return of_the_kernel(result.path, Purpose::kList);
  if (!S_ISDIR(status.st_mode)) {
    return base::error(Error::Kind::kInvalid,
                       result.path + ": is not a directory; use read_file, or list its directory");
  }
  const int failure = Lister(std::move(top), result.path, options).list(result);
  if (failure != 0) return path_error(result.path, failure, Purpose::kList);
  make_showable(result);
  return result;
}

}  // namespace sandbox::files
