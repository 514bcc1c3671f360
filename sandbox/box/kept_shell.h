// The state that bash keeps from run to run outlives the box: a copy of it lies beside the
// session's files, and the next box begins with it. Used from the loop's thread.
//
// Each copy is a new file that takes the place of the one of two that is not known to be on the
// disk: the other is whole whatever ends this process or the machine. What they hold is code to
// bash, and nobody else reads it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/side_thread.h"
#include "sandbox/box/state_directory.h"

namespace sandbox::box {

class KeptShell {
 public:
  // `directory`, that of the session's state, and `root_fd`, the root of the box, are borrowed.
  // `owner` is whose the files of the box are; nothing: ours.
  static base::Result<std::unique_ptr<KeptShell>> open(EventLoop& loop, StateDirectory& directory,
                                                       int root_fd,
                                                       std::optional<std::uint32_t> owner);

  ~KeptShell();
  KeptShell(const KeptShell&) = delete;
  KeptShell& operator=(const KeptShell&) = delete;

  // Puts the copy where bash looks for its state, in a box in which nothing has run yet. Returns
  // whether there was one.
  bool put_back();
  // Copies what a run of bash has left, where that is anything new. Where that fails, the next call
  // tries again. A state that is too large takes the copy away. The disk is waited for beside the
  // loop.
  void store();
  // Returns when the newest copy is on the disk, as far as the disk takes it.
  void flush();
  // Returns whether the copy is what bash has now, as far as it has anything.
  [[nodiscard]] bool is_stored() const;
  // Returns, once, in words what a new bash lacks beside what it had after its last run; empty when
  // that is nothing.
  [[nodiscard]] std::string take_lack() { return std::exchange(lack_, ""); }

 private:
  KeptShell(EventLoop& loop, StateDirectory& directory, int root_fd,
            std::optional<std::uint32_t> owner);

  struct Copy {
    std::string text;  // empty unless it is whole and as it was written
    bool is_damaged = false;
  };
  // Reads the file of that number.
  [[nodiscard]] Copy copy(std::size_t number) const;
  void forget();
  [[nodiscard]] bool put(const std::string& text);
  // Remembers what the newest copy says. It is of a state of that number, if not of its words.
  void note_stored(std::int64_t number, const std::string& text);
  // Has the newest copy brought to the disk, unless that is on or has been a moment ago.
  void sync();

  using Clock = std::chrono::steady_clock;
  // After a write to the disk there is none for so many times as long as it took.
  static constexpr int kRestsPerWork = 10;
  static constexpr std::chrono::milliseconds kWorkMost{60'000};

  EventLoop& loop_;
  StateDirectory& directory_;
  const int root_fd_;
  const std::optional<std::uint32_t> owner_;
  std::size_t next_ = 0;            // the file that is written next: the other one is on the disk
  std::int64_t stored_number_ = 0;  // bash_state_number() of what the newest copy says
  std::string stored_body_;         // bash_state_body() of it; "" where it is large
  std::int64_t synced_number_ = 0;  // as stored_number_, for the copy that is on the disk
  std::string lack_;
  EventLoop::TimerId rest_end_ = 0;
  std::unique_ptr<SideThread> side_;
};

}  // namespace sandbox::box
