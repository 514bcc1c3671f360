#include "sandbox/files/change_owner.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/draft.h"
#include "sandbox/files/open_in_root.h"
#include "sandbox/files/tree_walk.h"

namespace sandbox::files {

using base::Error;

namespace {

constexpr std::int64_t kToldEvery = 10'000;
// As many as remove_tree() takes on.
constexpr std::int64_t kOwnedEntriesMax = 50'000'000;

bool read_status(int fd, struct stat& status) { return ::fstat(fd, &status) == 0; }

class OwnerChange {
 public:
  OwnerChange(int top, std::uint32_t former, std::uint32_t id, const OwnerProgress& progress)
      : top_(top), id_(id), from_root_(former == 0), progress_(progress) {}

  base::Status run() {
    // First it is counted which names of a file lie in the tree.
    walk([this](TreeWalk&, const std::string&, const struct stat& status) { count(status); },
         [this](TreeWalk&) { ++all_; });
    if (all_ >= kOwnedEntriesMax) {
      return base::error(Error::Kind::kLimit, "there are too many files to change their owner");
    }
    walk([this](TreeWalk& place, const std::string& name,
                const struct stat&) { change(place, name); },
         [this](TreeWalk& place) {
           count_done();
           give(place.fd(), "a directory");
         });
    if (!failure_) give(top_, "it");
    return failure_ ? base::Status(*failure_) : base::done();
  }

 private:
  using File = std::pair<dev_t, ino_t>;

  // `entry` is called for all but directories, `enter` in each directory.
  template <class Entry, class Enter>
  void walk(const Entry& entry, const Enter& enter) {
    TreeWalk place(base::UniqueFd(::fcntl(top_, F_DUPFD_CLOEXEC, 3)), Mounts::kStay);
    std::vector<std::vector<std::string>> waiting(1, read_here(place, entry));
    while (all_ < kOwnedEntriesMax) {
      if (!waiting.back().empty()) {
        const std::string name = std::move(waiting.back().back());
        waiting.back().pop_back();
        if (!place.down(name)) {
          if (errno != EXDEV) note("enter " + name);
          continue;
        }
        enter(place);
        waiting.push_back(read_here(place, entry));
      } else if (place.depth() == 0) {
        return;
      } else {
        place.up();
        waiting.resize(place.depth() + 1);
      }
    }
  }

  template <class Entry>
  std::vector<std::string> read_here(TreeWalk& place, const Entry& entry) {
    std::vector<std::string> directories;
    DirectoryReader reader(place.fd());
    if (!reader.valid()) {
      errno = reader.failure();
      note("read a directory");
    }
    while (reader.valid()) {
      const dirent* const next = reader.next();
      if (next == nullptr) break;
      struct stat status {};
      if (::fstatat(place.fd(), next->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        note(std::string("look at ") + next->d_name);
      } else if (S_ISDIR(status.st_mode)) {
        directories.emplace_back(next->d_name);
      } else {
        entry(place, next->d_name, status);
      }
    }
    return directories;
  }

  void count(const struct stat& status) {
    ++all_;
    if (status.st_nlink > 1) ++names_in_tree_[File(status.st_dev, status.st_ino)];
  }

  void change(TreeWalk& place, const std::string& name) {
    count_done();
    const base::UniqueFd file = open_entry(place.fd(), name, O_PATH, Mounts::kStay);
    struct stat status {};
    if (!file.valid() || !read_status(file.get(), status)) {
      if (errno != EXDEV) note("open " + name);
      return;
    }
    auto known = names_in_tree_.find(File(status.st_dev, status.st_ino));
    const bool elsewhere_too =
        status.st_nlink > 1 && (known == names_in_tree_.end() || known->second < status.st_nlink);
    if (!elsewhere_too) return give(file.get(), name);
    // The owner of what is no regular file lets nobody do anything.
    if (!S_ISREG(status.st_mode) || !is_to_change(status.st_uid, status.st_gid)) return;
    if (known != names_in_tree_.end()) --known->second;
    replace(place, name, file.get(), status);
  }

  void count_done() {
    if (++done_ % kToldEvery == 0) progress_(done_, all_);
  }

  void replace(TreeWalk& place, const std::string& name, int file, const struct stat& status) {
    const base::UniqueFd source = reopen(file, O_RDONLY);
    base::Draft draft(place.fd());
    errno =
        source.valid() ? draft.copy(source.get(), status.st_size, status.st_mode & 07777) : errno;
    if (errno == 0) errno = draft.give_to(id_);
    if (errno == 0) errno = draft.publish_over(name);
    if (errno != 0) return note("copy " + name);
    const timespec times[] = {status.st_atim, status.st_mtim};
    (void)::utimensat(place.fd(), name.c_str(), times, AT_SYMLINK_NOFOLLOW);
  }

  [[nodiscard]] bool is_to_change(uid_t uid, gid_t gid) const {
    return (uid != id_ && (uid != 0 || from_root_)) || (gid != id_ && (gid != 0 || from_root_));
  }

  void give(int fd, const std::string& name) {
    struct stat status {};
    if (!read_status(fd, status)) return note("look at " + name);
    if (!is_to_change(status.st_uid, status.st_gid)) return;
    constexpr auto kAsItIs = static_cast<uid_t>(-1);
    const uid_t uid = status.st_uid == 0 && !from_root_ ? kAsItIs : id_;
    const gid_t gid = status.st_gid == 0 && !from_root_ ? kAsItIs : id_;
    if (::fchownat(fd, "", uid, gid, AT_EMPTY_PATH) != 0) note("change the owner of " + name);
  }

  void note(const std::string& what) {
    if (!failure_) failure_ = Error::from_errno(what, Error::Kind::kUnavailable);
  }

  const int top_;
  const std::uint32_t id_;
  const bool from_root_;
  const OwnerProgress& progress_;
  std::map<File, nlink_t> names_in_tree_;  // for files that have several
  std::int64_t all_ = 0;
  std::int64_t done_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

base::Status change_owner(int parent_fd, const std::string& name, std::uint32_t id,
                          const OwnerProgress& progress) {
  const base::UniqueFd top = open_entry(parent_fd, name, O_PATH | O_DIRECTORY, Mounts::kStay);
  struct stat status {};
  if (!top.valid() || !read_status(top.get(), status)) return Error::from_errno("open " + name);
  if (status.st_uid == id && status.st_gid == id) return base::done();
  auto changed = OwnerChange(top.get(), status.st_uid, id, progress).run();
  if (!changed.ok()) return std::move(changed).error().context("give " + name + " to its session");
  return changed;
}

}  // namespace sandbox::files
