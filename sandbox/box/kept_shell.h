// The state that bash keeps from run to run outlives the box: a copy of it lies beside the
// session's files, and the next box begins with it. Used from the loop's thread.
//
// Two files are written in turns, as bash itself does it: the one before is whole whatever happens
// to the one that is being written. What they hold is code to bash, and nobody else reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sandbox::box {

class KeptShell {
 public:
  // `directory_fd`, that of the session's state, and `root_fd`, the root of the box, are borrowed.
  // `owner` is whose the files of the box are; nothing: ours.
  static base::Result<std::unique_ptr<KeptShell>> open(int directory_fd, int root_fd,
                                                       std::optional<std::uint32_t> owner);

  // Puts the copy where bash looks for its state, in a box in which nothing has run yet. Returns
  // whether there was one.
  bool put_back();
  // Copies what a run of bash has left. A state that is too large takes the copy away.
  void store();
  // Returns when the newest copy is on the disk.
  void flush() const;
  // Returns whether the copy is what bash has now, as far as it has anything.
  [[nodiscard]] bool is_stored() const;

 private:
  KeptShell(base::UniqueFd directory, int root_fd, std::optional<std::uint32_t> owner)
      : directory_(std::move(directory)), root_fd_(root_fd), owner_(owner) {}

  // Returns the copy in the file of that number, if it is whole, else "".
  [[nodiscard]] std::string copy(int number) const;

  const base::UniqueFd directory_;
  const int root_fd_;
  const std::optional<std::uint32_t> owner_;
  int next_ = 0;                    // the file that is written next
  std::int64_t stored_number_ = 0;  // bash_state_number() of the copy
};

}  // namespace sandbox::box
