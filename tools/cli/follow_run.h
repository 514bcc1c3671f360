// A run as it goes on, for the shell: its output where it belongs, as it comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <thread>

#include "base/fd.h"
#include "sessions/run_state.h"
#include "tools/cli/application.h"

namespace tools::cli {

inline constexpr std::size_t kPrintedBytes = 1 << 20;  // at once

// Requests stop when one of ending_signals() comes; they are blocked in every thread by main().
class Interruptible {
 public:
  Interruptible();
  [[nodiscard]] std::stop_token token() const { return interrupted_.get_token(); }
  [[nodiscard]] bool came() const { return interrupted_.stop_requested(); }

 private:
  base::UniqueFd signals_;
  std::stop_source interrupted_;
  std::jthread watcher_;
};

// Says what an interrupt does to the run: it is cancelled, or goes on unseen.
enum class OnInterrupt { kCancel, kLeave };
// Says what happens once nobody reads what is printed, as when `head` has all that it wants: the
// run goes on, or what an interrupt does is done.
enum class WhenUnread { kGoOn, kInterrupt };
// Says who prints: code, which a terminal must not obey, or a program that has a terminal of its
// own, which this one stands for.
enum class Printed { kByCode, kByTerminal };

// Prints what there is, from the beginning, and what comes, until the run has ended.
base::Result<sessions::RunState> follow(Application& app, sessions::RunState state,
                                        const std::stop_token& interrupted, OnInterrupt what,
                                        WhenUnread when_unread, Printed printed);

}  // namespace tools::cli
