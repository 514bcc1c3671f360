// All of a session that outlives its box beside files: snapshots of its interpreters, the copy of
// bash's state, and whether a box has ended since nothing was left to store. Used from the loop's
// thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/kept_shell.h"
#include "sandbox/box/kept_state.h"
#include "sandbox/box/state_directory.h"
#include "sandbox/box_spec.h"
#include "sandbox/run.h"

namespace sandbox::box {

class StoredState {
 public:
  // `session_fd`, the session's directory, and `root_fd`, the root of the box, have to outlive
  // this.
  static base::Result<std::unique_ptr<StoredState>> open(EventLoop& loop, int session_fd,
                                                         int root_fd, const BoxSpec& spec);

  [[nodiscard]] std::map<Language, KeptState*> interpreters() const;
  [[nodiscard]] KeptShell* shell() const { return shell_.get(); }
  // Puts bash's state into a box in which nothing has run yet. Returns the languages whose state
  // there is; interpreters read theirs as they start.
  std::set<Language> put_back();

  // Returns whether the box before has ended since all was stored.
  [[nodiscard]] bool has_rested() const { return has_rested_; }
  // All is stored, and this box ends. Returns when that is on the disk.
  void rests();
  // Returns when the newest files are on the disk under their names.
  void flush();

  // Something was killed for memory. Returns whether that was the writer of a snapshot, which is
  // nothing of the session's.
  [[nodiscard]] bool take_killed_writer();

 private:
  explicit StoredState(StateDirectory directory) : directory_(std::move(directory)) {}

  StateDirectory directory_;
  std::map<Language, std::unique_ptr<KeptState>> interpreters_;
  std::unique_ptr<KeptShell> shell_;
  bool has_rested_ = false;
};

}  // namespace sandbox::box
