// Walking a directory tree that may be deep, wide and changing, with three descriptors however
// deep.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "sandbox/files/open_in_root.h"

namespace sandbox::files {

// A DirectoryReader reads the entries of one directory, without "." and "..", in the kernel's
// order. readdir(3).
class DirectoryReader {
 public:
  // `directory_fd` may be O_PATH.
  explicit DirectoryReader(int directory_fd);

  // Returns false with errno in `failure()` when it cannot be read.
  [[nodiscard]] bool valid() const { return directory_ != nullptr; }
  [[nodiscard]] int failure() const { return failure_; }
  // Returns null at the end. The entry is valid until the next call.
  const dirent* next();

 private:
  struct Closer {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  std::unique_ptr<DIR, Closer> directory_;
  int failure_ = 0;
};

// A TreeWalk is a place in a tree. It goes down by name, never through a link, and up by "..",
// checking that it came out where it went in: a directory that was moved meanwhile would lead to a
// stranger. For one thread.
class TreeWalk {
 public:
  // Starts at `top`, an O_PATH descriptor of a directory, and never leaves it.
  TreeWalk(base::UniqueFd top, Mounts mounts);

  // Returns an O_PATH descriptor that is valid until the next step.
  [[nodiscard]] int fd() const { return here_.get(); }
  // Returns 0 at the top.
  [[nodiscard]] std::size_t depth() const { return chain_.size() - 1; }
  // Returns the directory's device as it was when it was entered.
  [[nodiscard]] dev_t device() const { return chain_.back().device; }

  // Returns false with errno when `name` is no directory that may be entered.
  bool down(const std::string& name);

  // Goes up one level, or more where things were moved: ask depth(). REQUIRES: depth() > 0.
  void up();

  // Returns true once up() had to leave out a part because things were moved.
  [[nodiscard]] bool lost_place() const { return lost_place_; }

 private:
  struct Place {
    dev_t device = 0;
    ino_t inode = 0;
    std::string name;
  };
  static bool is_at(int fd, const Place& place);
  void find_place_again();

  base::UniqueFd top_;
  base::UniqueFd here_;
  base::UniqueFd above_;  // after a step down, so that a directory closed to us can be left
  Mounts mounts_;
  std::vector<Place> chain_;  // from the top to here
  int searches_ = 0;
  std::size_t searched_levels_ = 0;
  bool lost_place_ = false;
};

}  // namespace sandbox::files
