// Rest decides whether the processes of a session run, are paused, or end once what they know is
// stored. A paused box is frozen; where nothing would be lost by it, it is stored instead, and
// ends. Used from the loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/host_memory.h"
#include "sandbox/box/init_process.h"
#include "sandbox/box/loss_record.h"
#include "sandbox/box/life.h"
#include "sandbox/box/runs.h"
#include "sandbox/box/stored_state.h"
#include "sandbox/box_spec.h"
#include "sandbox/cgroup.h"

namespace sandbox::box {

class Rest {
 public:
  enum class Pauser { kClient, kIdleness };

  // They outlive this.
  struct Of {
    EventLoop& loop;
    const BoxSpec& spec;
    InitProcess& init;
    Cgroup& cgroup;
    Runs& runs;
    StoredState* stored_state;  // null: nothing is stored
    LossRecord& record;
    std::function<void(const std::string& why)> end;  // ends the box; it calls ends() back
    std::function<void()> end_network;
  };
  explicit Rest(Of of) : of_(std::move(of)) {}

  // Fails where the processes cannot be frozen, and while what they know is stored for the end.
  base::Status pause(Pauser pauser);
  base::Status resume();
  // A client uses the session, or, with in_use(), what runs in it, which says nothing of what a
  // client wants paused.
  void used();
  void in_use();
  // Ends the box; what interpreters know that run nothing is stored first, for as long as something
  // comes of that.
  void shut_down(const std::string& why, Ending ending);
  // The box ends now. Frozen processes are thawed: in cgroup v1 they cannot be killed.
  void ends();

  [[nodiscard]] bool paused() const { return paused_since_.has_value(); }
  [[nodiscard]] bool paused_on_request() const { return paused() && paused_on_request_; }
  [[nodiscard]] std::optional<std::chrono::seconds> paused_for() const;
  // Returns whether nothing goes on in it: it is paused, all that could be stored is, and the
  // freezer has taken, which it may do some time later.
  [[nodiscard]] bool is_frozen() const { return are_frozen_ && !is_storing(); }
  // Returns whether what it knows is on its way to the disk.
  [[nodiscard]] bool is_storing() const { return is_storing_ || is_ending_; }
  // Says why one that is frozen, or about to be, keeps its processes; empty where nothing was
  // looked for, as in one that is never let go.
  [[nodiscard]] std::string held_by() const { return paused() && !is_storing() ? held_by_ : ""; }
  // It is asked from time to time: a run that is on is a use.
  [[nodiscard]] bool idle_too_long();
  // Returns whether it is paused, and the host has so little memory left that it is to end.
  [[nodiscard]] bool is_to_make_room() const;

 private:
  base::Status freeze(bool frozen);
  // Returns whether somebody has used the session, and would miss what it knows.
  [[nodiscard]] bool is_somebodys() const;
  // Names something in it that no snapshot has; empty: there is nothing.
  [[nodiscard]] std::string what_holds_it() const;
  [[nodiscard]] bool has_files_in_memory() const;
  void store_and_rest();
  // It is called for a client that waits for what it has paused to stop.
  void bound_storing();
  void rest_once_quiet(int pause, const std::string& held_by);
  void rest();
  void freeze_later(std::chrono::seconds wait);
  // Takes turns with other boxes: each is to see what others have given back.
  [[nodiscard]] MemoryLeft host_memory_left() const;

  using Clock = std::chrono::steady_clock;

  const Of of_;
  const HostMemory host_memory_;
  std::optional<Clock::time_point> paused_since_;
  bool paused_on_request_ = false;
  int pauses_ = 0;
  bool are_frozen_ = false;  // the processes, as far as the freezer has said
  bool is_storing_ = false;  // it is paused, and frozen once what it knows is stored
  std::string held_by_;      // why it was frozen and not stored alone
  bool is_ending_ = false;   // once what it knows is stored
  bool has_ended_ = false;
  Clock::time_point last_use_ = Clock::now();
};

}  // namespace sandbox::box
