// The interpreters that a session's specification names start before a run asks for them. One that
// no run wants ends soon after somebody has the session. Used from the loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "sandbox/box/event_loop.h"
#include "sandbox/run.h"

namespace sandbox::box {

class StartsAhead {
 public:
  struct Of {
    EventLoop& loop;
    const std::vector<Language>& languages;
    std::function<void(Language language)> start;
    std::function<void(Language interpreter)> end;
    // If sessions are made one after the other, none of them sits so long before it is taken:
    // nobody starts a node for each.
    std::chrono::milliseconds pause{500};
    // Unused, a shell is a megabyte for nothing, and a node 40.
    std::chrono::milliseconds unused_most{60'000};
  };
  explicit StartsAhead(Of of) : of_(std::move(of)) {}

  // Starts Python at once, the others when the session is still nobody's after a moment.
  void start();
  // A run of this interpreter has come: it stays.
  void is_used(Language interpreter) { unused_.erase(interpreter); }
  // Somebody has this session: nothing more is started for it, and what it has no use for ends.
  void end_unused_soon();

 private:
  const Of of_;
  std::set<Language> unused_;
  EventLoop::TimerId unused_end_ = 0;
  EventLoop::TimerId start_ = 0;
};

}  // namespace sandbox::box
