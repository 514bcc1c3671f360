#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/files/tree.h"
#include "sandbox/files/tree_walk.h"

namespace sandbox::files {

namespace {

// Names still to be entered, all levels together. No honest tree comes near.
constexpr std::size_t kTreeWaitingBytesMax = 16 << 20;
// Code with our own id may close a directory as often as we open it.
constexpr int kOpeningAttempts = 16;

// Lets us read and search a directory of our own, which hostile code of the same id has closed:
// else closing one would hide all that lies in it. By descriptor, so it is the one that we count.
// False when it was found closed.
bool open_to_us(int directory_fd) {
  constexpr mode_t kWanted = S_IRUSR | S_IXUSR;
  struct stat status {};
  if (::fstat(directory_fd, &status) != 0 || status.st_uid != ::geteuid()) return true;
  if ((status.st_mode & kWanted) == kWanted) return true;
  (void)change_mode(directory_fd, (status.st_mode & 07777) | kWanted);
  return false;
}

// `attempt` until it works, or fails for another reason than a closed directory.
template <class Attempt>
bool in_open_directory(int directory_fd, const Attempt& attempt) {
  for (int i = 0; i < kOpeningAttempts; ++i) {
    (void)open_to_us(directory_fd);
    if (attempt()) return true;
    if (errno != EACCES) return false;
  }
  errno = EACCES;
  return false;
}

class Counter {
 public:
  Counter(base::UniqueFd top, std::int64_t files_max, base::WorkBudget& budget,
          std::int64_t since_ns)
      : walk_(std::move(top), Mounts::kStay),
        files_max_(files_max),
        budget_(budget),
        since_ns_(since_ns) {}

  TreeUsage count(const std::stop_token& stop) {
    waiting_.emplace_back();
    read_here();
    while (!full_ && !budget_.spent() && !stop.stop_requested()) {
      if (waiting_.back().empty()) {
        if (walk_.depth() == 0) break;
        leave();
      } else {
        enter_next();
      }
    }
    usage_.truncated = full_ || budget_.spent() || walk_.lost_place() || stop.stop_requested();
    // A tree too large to be counted is over every limit.
    if (full_) usage_.files = files_max_;
    return usage_;
  }

 private:
  void enter_next() {
    const std::string name = std::move(waiting_.back().back());
    waiting_.back().pop_back();
    waiting_bytes_ -= name.size();
    if (!in_open_directory(walk_.fd(), [&] { return walk_.down(name); })) {
      // Else removed meanwhile, or a mount.
      if (errno == EACCES) ++usage_.unreadable;
      return;
    }
    waiting_.emplace_back();
    read_here();
  }

  void leave() {
    // A closed directory cannot be left by "..", and what lies beside it would not be counted.
    const auto is_open = [&] {
      errno = EACCES;
      return open_to_us(walk_.fd());
    };
    if (!in_open_directory(walk_.fd(), is_open)) ++usage_.unreadable;
    walk_.up();
    while (waiting_.size() > walk_.depth() + 1) {
      for (const std::string& name : waiting_.back()) waiting_bytes_ -= name.size();
      waiting_.pop_back();
    }
  }

  void read_here() {
    std::optional<DirectoryReader> reader;
    const auto read = [&] {
      reader.emplace(walk_.fd());
      errno = reader->failure();
      return reader->valid();
    };
    if (!in_open_directory(walk_.fd(), read)) {
      ++usage_.unreadable;
      return;
    }
    while (const dirent* entry = reader->next()) {
      if (!budget_.take()) return;
      struct stat status {};
      const auto look = [&] {
        return ::fstatat(walk_.fd(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
      };
      if (!look() && (errno != EACCES || !in_open_directory(walk_.fd(), look))) {
        if (errno != EACCES) continue;  // removed meanwhile
        ++usage_.unreadable;
        return;
      }
      add(status);
      if (S_ISDIR(status.st_mode)) {
        waiting_.back().emplace_back(entry->d_name);
        waiting_bytes_ += waiting_.back().back().size();
      }
      if (usage_.files >= files_max_ || waiting_bytes_ > kTreeWaitingBytesMax) {
        full_ = true;
        return;
      }
    }
  }

  void add(const struct stat& status) {
    const bool has_more_names = !S_ISDIR(status.st_mode) && status.st_nlink > 1;
    if (has_more_names && !counted_.insert({status.st_dev, status.st_ino}).second) return;
    const std::int64_t bytes = static_cast<std::int64_t>(status.st_blocks) * 512;
    ++usage_.files;
    usage_.bytes += bytes;
    const std::int64_t changed_ns = status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
    if (since_ns_ == 0 || changed_ns <= since_ns_) return;
    ++usage_.changed_files;
    usage_.changed_bytes += bytes;
  }

  TreeWalk walk_;
  std::int64_t files_max_;
  base::WorkBudget& budget_;
  std::int64_t since_ns_;
  std::vector<std::vector<std::string>> waiting_;  // directories to enter, by depth
  std::size_t waiting_bytes_ = 0;
  std::set<std::pair<dev_t, ino_t>> counted_;
  TreeUsage usage_;
  bool full_ = false;
};

}  // namespace

TreeUsage tree_usage(int directory_fd, std::int64_t files_max, base::WorkBudget& budget,
                     const std::stop_token& stop, std::int64_t since_ns) {
  base::UniqueFd top;
  const auto open_top = [&] {
    top = base::UniqueFd(::openat(directory_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return top.valid();
  };
  if (!in_open_directory(directory_fd, open_top)) {
    TreeUsage usage;
    usage.unreadable = 1;
    return usage;
  }
  return Counter(std::move(top), files_max, budget, since_ns).count(stop);
}

}  // namespace sandbox::files
