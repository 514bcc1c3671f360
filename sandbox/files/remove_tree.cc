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

using base::Error;

namespace {

// Directories noted at one reading. What does not fit is found at the next one.
constexpr std::size_t kBatch = 1024;
// Entries handled in all. Whoever fills a tree faster than we empty it shall not keep us for ever.
constexpr std::int64_t kEntriesMax = 50'000'000;

class Remover {
 public:
  explicit Remover(base::UniqueFd top) : walk_(std::move(top), Mounts::kStay) {}

  // Leaves an empty directory, or says what is still in it.
  base::Status empty() {
    levels_.emplace_back();
    unlock_here();
    while (entries_ < kEntriesMax) {
      Level& level = levels_.back();
      if (level.directories.empty() && !level.read_through) read_here(level);
      if (!level.directories.empty()) {
        enter_next(level);
      } else if (level.read_through) {
        if (walk_.depth() == 0) return failure_ ? base::Status(*failure_) : base::done();
        leave();
      }
    }
    return base::error(Error::Kind::kUnavailable, "is being filled while it is removed");
  }

 private:
  struct Level {
    std::string name;                      // this directory's name in the one above
    std::vector<std::string> directories;  // to be entered
    std::set<std::string> left;            // could not be removed
    bool read_through = false;             // the last reading came to the end
    bool unreadable = false;
  };

  // Our own directory may forbid us to read, write or search it.
  void unlock_here() {
    struct stat status {};
    if (::fstat(walk_.fd(), &status) == 0 && (status.st_mode & S_IRWXU) != S_IRWXU) {
      (void)change_mode(walk_.fd(), S_IRWXU);
    }
  }

  void note(const std::string& what, int failure) {
    if (failure_) return;
    errno = failure;
    failure_ = Error::from_errno(what);
  }

  void read_here(Level& level) {
    DirectoryReader reader(walk_.fd());
    level.read_through = true;
    if (!reader.valid()) {
      note("open " + level.name, reader.failure());
      level.unreadable = true;
      return;
    }
    while (const dirent* entry = reader.next()) {
      const std::string name = entry->d_name;
      if (++entries_ >= kEntriesMax) return;
      if (level.left.contains(name)) continue;
      if (entry->d_type != DT_DIR) {
        if (::unlinkat(walk_.fd(), name.c_str(), 0) == 0 || errno == ENOENT) continue;
        if (errno != EISDIR) {
          keep(level, name, "remove", errno);
          continue;
        }
      }
      level.directories.push_back(name);
      // rmdir(2) finds an entry that came meanwhile, but for the top, which the caller removes.
      if (walk_.depth() == 0) level.read_through = false;
      if (level.directories.size() == kBatch) {
        level.read_through = false;
        return;
      }
    }
  }

  void keep(Level& level, const std::string& name, const std::string& what, int failure) {
    note(what + " " + name, failure);
    level.left.insert(name);
  }

  void enter_next(Level& level) {
    std::string name = std::move(level.directories.back());
    level.directories.pop_back();
    // Most directories of a large tree hold no others; an empty one goes without being entered.
    if (::unlinkat(walk_.fd(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return;
    if (errno == ENOTDIR) {  // it was replaced after we read its name
      levels_.back().read_through = false;
      return;
    }
    if (!walk_.down(name)) {
      if (errno != ENOENT) keep(level, name, errno == EXDEV ? "leave the mount" : "enter", errno);
      return;
    }
    levels_.emplace_back();
    levels_.back().name = std::move(name);
    unlock_here();
  }

  void leave() {
    const std::string name = levels_.back().name;
    const bool emptied = levels_.back().left.empty() && !levels_.back().unreadable;
    walk_.up();
    const bool one_up = levels_.size() == walk_.depth() + 2;
    levels_.resize(walk_.depth() + 1);
    // Moved away under us: what is here now is read again.
    if (!one_up) {
      levels_.back().read_through = false;
      return;
    }
    if (::unlinkat(walk_.fd(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return;
    if (errno == ENOTEMPTY && emptied) {  // filled again meanwhile
      levels_.back().read_through = false;
      return;
    }
    keep(levels_.back(), name, "remove", errno);
  }

  TreeWalk walk_;
  std::vector<Level> levels_;
  std::int64_t entries_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

base::Status remove_tree(int parent_fd, const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
    return base::error(Error::Kind::kInvalid, "\"" + name + "\" is not the name of an entry");
  }
  if (::unlinkat(parent_fd, name.c_str(), 0) == 0 || errno == ENOENT) return base::done();
  if (errno != EISDIR && errno != EPERM) return Error::from_errno("remove " + name);
  base::UniqueFd top = open_entry(parent_fd, name, O_PATH | O_DIRECTORY, Mounts::kStay);
  if (!top.valid()) return Error::from_errno("remove " + name);
  if (auto emptied = Remover(std::move(top)).empty(); !emptied.ok()) {
    return std::move(emptied).error().context("remove " + name);
  }
  if (::unlinkat(parent_fd, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
    return base::done();
  }
  return Error::from_errno("remove " + name);
}

}  // namespace sandbox::files
