// RunStopper ends a run before it ends by itself: at its deadline, or because somebody says so.
// Used from the loop's thread.
//
// A run that must end is interrupted first, so that variables survive; 0.5 s after it, its children
// are; 1.5 s after it, its process group is killed. While the box is frozen none of these times
// pass. The times lie in the job.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "sandbox/box/event_loop.h"
#include "sandbox/box/file_changes.h"
#include "sandbox/box/init_process.h"
#include "sandbox/box/interpreters.h"
#include "sandbox/box/job.h"

namespace sandbox::box {

class RunStopper {
 public:
  // They outlive this.
  struct Of {
    EventLoop& loop;
    InitProcess& init;
    const FileChanges& files;
    const Interpreters& interpreters;
    std::function<std::shared_ptr<Job>(const std::string& run_id)> find;  // null: it has ended
  };
  explicit RunStopper(Of of) : of_(std::move(of)) {}

  // Begins to end a run that is on, for this cause, unless it is being ended.
  void stop(Job& job, Cause cause);
  // Stops the run after `left_ms`, for its time.
  void arm_deadline(Job& job, std::int64_t left_ms);
  // Drops the times of a run that has ended.
  void forget(Job& job);
  // Ends what a run has started, where that is ended with it.
  void end_what_it_started(const Job& job);
  // Returns whether it is: of a run that was stopped, or that has filled the process table.
  [[nodiscard]] static bool ends_what_it_started(const Job& job);

  // Returns what is left until the deadline, at least 1; 0: it has none.
  static std::int64_t left_ms(const Job& job);
  // Returns whether the run's interpreter reads what was stored, which takes as long as its
  // libraries take to load: that is no time of the run's.
  [[nodiscard]] bool is_waking(const Job& job) const;

  // The box is frozen, or goes on. hold() and go_on() are then for each of its runs.
  void set_frozen(bool frozen) { frozen_ = frozen; }
  [[nodiscard]] bool is_frozen() const { return frozen_; }
  void hold(Job& job);
  void go_on(Job& job);

 private:
  void interrupt_children(Job& job);
  void escalate(const std::string& run_id);
  void arm_escalation(Job& job, int step, std::int64_t left_ms);
  void tell_who_is_read(const Job& job) const;

  const Of of_;
  bool frozen_ = false;
};

}  // namespace sandbox::box
