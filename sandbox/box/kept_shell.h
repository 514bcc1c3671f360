// The state that bash keeps from run to run outlives the box: a copy of it lies beside the
// session's files, and the next box begins with it. Used from the loop's thread.
//
// Two files are written in turns, as bash itself does it, and each takes the place of its older one
// once it is on the disk: the newest is whole whatever ends this process or the machine. What they
// hold is code to bash, and nobody else reads it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/side_thread.h"

namespace sandbox::box {

class KeptShell {
 public:
  // `directory_fd`, that of the session's state, and `root_fd`, the root of the box, are borrowed.
  // `owner` is whose the files of the box are; nothing: ours.
  static base::Result<std::unique_ptr<KeptShell>> open(EventLoop& loop, int directory_fd,
                                                       int root_fd,
                                                       std::optional<std::uint32_t> owner);

  // Puts the copy where bash looks for its state, in a box in which nothing has run yet. Returns
  // whether there was one.
  bool put_back();
  ~KeptShell();
  KeptShell(const KeptShell&) = delete;
  KeptShell& operator=(const KeptShell&) = delete;

  // Copies what a run of bash has left beside the loop, which does not wait for the disk: at once,
  // or where the disk was at work for it just now, ten times as long after that. A state that is
  // too large takes the copy away.
  void store();
  // Returns when the newest copy is on the disk, as far as the disk takes it.
  void flush();
  // Waits as flush() does. Returns whether the copy is what bash has now, as far as it has
  // anything.
  [[nodiscard]] bool is_stored();

 private:
  KeptShell(EventLoop& loop, base::UniqueFd directory, int root_fd,
            std::optional<std::uint32_t> owner);

  // Returns the copy in the file of that number, if it is whole, else "".
  [[nodiscard]] std::string copy(int number) const;
  void forget();
  // Runs on the side thread. Returns whether `text` is on the disk as the file of that number.
  [[nodiscard]] bool put(int number, const std::string& text) const;

  using Clock = std::chrono::steady_clock;
  // Nothing is copied for so many times as long as the last copy took.
  static constexpr int kRestsPerWork = 10;
  static constexpr std::chrono::milliseconds kWorkMost{60'000};
  void rest(Clock::duration worked);

  EventLoop& loop_;
  const base::UniqueFd directory_;
  const int root_fd_;
  const std::optional<std::uint32_t> owner_;
  int next_ = 0;                    // the file that is written next
  std::int64_t stored_number_ = 0;  // bash_state_number() of the copy
  EventLoop::TimerId rest_end_ = 0;
  std::unique_ptr<SideThread> side_;
};

}  // namespace sandbox::box
