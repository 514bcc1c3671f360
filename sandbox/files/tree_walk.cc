#include "sandbox/files/tree_walk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sandbox::files {

namespace {

constexpr int kPathOnly = O_PATH | O_DIRECTORY | O_CLOEXEC;
// Finding the place again costs a walk from the top; someone who moves things all the time shall
// not make one of us quadratic in a depth of his choice.
constexpr int kSearchesMax = 100;
// Nor one that is as slow as he likes: levels gone down in all searches.
constexpr std::size_t kSearchedLevelsMax = 100'000;

base::UniqueFd duplicate(int fd) { return base::UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

}  // namespace

DirectoryReader::DirectoryReader(int directory_fd) {
  // "." of an O_PATH descriptor is that directory, opened for real.
  base::UniqueFd fd(::openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) directory_.reset(::fdopendir(fd.get()));
  if (directory_) {
    (void)fd.release();  // the DIR owns it now
  } else {
    failure_ = errno;
  }
}

const dirent* DirectoryReader::next() {
  while (const dirent* entry = ::readdir(directory_.get())) {  // NOLINT: a DIR of our own
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) return entry;
  }
  return nullptr;
}

TreeWalk::TreeWalk(base::UniqueFd top, Mounts mounts)
    : top_(std::move(top)), here_(duplicate(top_.get())), mounts_(mounts) {
  struct stat status {};
  (void)::fstat(top_.get(), &status);
  chain_.push_back({status.st_dev, status.st_ino, ""});
}

bool TreeWalk::is_at(int fd, const Place& place) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_dev == place.device && status.st_ino == place.inode;
}

bool TreeWalk::down(const std::string& name) {
  base::UniqueFd child = open_entry(here_.get(), name, O_PATH | O_DIRECTORY, mounts_);
  struct stat status {};
  if (!child.valid() || ::fstat(child.get(), &status) != 0) return false;
  chain_.push_back({status.st_dev, status.st_ino, name});
  above_ = std::move(here_);
  here_ = std::move(child);
  return true;
}

void TreeWalk::up() {
  chain_.pop_back();
  if (above_.valid()) {
    here_ = std::move(above_);
    return;
  }
  // Plain openat(2): no mode of openat2(2) lets ".." leave the directory it starts from.
  base::UniqueFd parent(::openat(here_.get(), "..", kPathOnly));
  if (parent.valid() && is_at(parent.get(), chain_.back())) {
    here_ = std::move(parent);
  } else {
    find_place_again();
  }
}

void TreeWalk::find_place_again() {
  here_ = duplicate(top_.get());
  const std::size_t wanted = chain_.size();
  searched_levels_ += wanted;
  const bool enough = ++searches_ > kSearchesMax || searched_levels_ > kSearchedLevelsMax;
  const std::size_t reach = enough ? 1 : wanted;
  std::size_t found = 1;
  for (; found < reach; ++found) {
    base::UniqueFd child =
        open_entry(here_.get(), chain_[found].name, O_PATH | O_DIRECTORY, mounts_);
    if (!child.valid() || !is_at(child.get(), chain_[found])) break;
    here_ = std::move(child);
  }
  chain_.resize(found);
  lost_place_ = lost_place_ || found < wanted;
}

}  // namespace sandbox::files
