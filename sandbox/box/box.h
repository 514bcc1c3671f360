// A Box is one live session: its init, its cgroup, its runs, its control socket, and how long it
// stays.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/boot_clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/control.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/init_process.h"
#include "sandbox/box/loss_record.h"
#include "sandbox/box/life.h"
#include "sandbox/box/memory_view.h"
#include "sandbox/box/network_access.h"
#include "sandbox/box/rest.h"
#include "sandbox/box/runs.h"
#include "sandbox/box/stored_state.h"
#include "sandbox/box/watchdog.h"
#include "sandbox/box_spec.h"
#include "sandbox/cgroup.h"
#include "sandbox/disk_quota.h"
#include "sandbox/isolation.h"

namespace sandbox::box {

class Box {
 public:
  // Starts everything; the box answers on its socket when this returns. `lock_fd` is the session's
  // locked file, borrowed.
  static base::Result<std::unique_ptr<Box>> start(EventLoop& loop, BoxSpec spec, int lock_fd);
  ~Box();

 private:
  Box(EventLoop& loop, BoxSpec spec, LossRecord record)
      : loop_(loop), spec_(std::move(spec)), loss_record_(std::move(record)) {
    if (spec_.ends_in_ms) ends_at_ms_ = base::boottime_ms() + *spec_.ends_in_ms;
  }

  base::Status open_directories();
  base::Status start_init();
  void make_network();
  // Counts unfinished uploads as much as they are to have, but for those being put in place.
  [[nodiscard]] std::int64_t upload_bytes() const;
  base::Status start_control();
  // Returns what the watchdog is to look after, and whom it tells.
  Watchdog::Watched watched();
  base::Status start_runs();
  void show_memory();
  // Returns how often something of the session was killed for memory; the writer of a snapshot is
  // nothing of it.
  std::int64_t oom_kills();

  [[nodiscard]] nlohmann::json status();
  [[nodiscard]] Isolation isolation() const;
  // `why` is what is not said by the cause.
  void end(Cause cause, const std::string& why);
  void processes_refused();
  void limit_reached(Cause cause, const std::string& why = "",
                     DiskLimit disk_limit = DiskLimit::kRoomOfHost);

  void check_life();
  std::optional<std::string> reason_to_end_now();
  [[nodiscard]] bool directory_is_gone() const;
  [[nodiscard]] bool cover_is_gone() const;

  EventLoop& loop_;
  BoxSpec spec_;
  std::optional<std::int64_t> ends_at_ms_;  // by base::boottime_ms()
  std::size_t folder_mounts_ = 0;           // host folders, and mounts in them
  base::UniqueFd runs_directory_;
  base::UniqueFd workspace_;
  base::UniqueFd home_;
  base::UniqueFd tmp_;
  std::vector<base::UniqueFd> tmpfs_;
  base::UniqueFd session_directory_;
  base::UniqueFd environment_;             // keeps it; not valid without one
  std::unique_ptr<DiskQuota> disk_quota_;  // null: the disk is watched
  std::unique_ptr<Cgroup> cgroup_;
  std::unique_ptr<InitProcess> init_;
  std::unique_ptr<StoredState> stored_state_;  // null: nothing is stored
  std::unique_ptr<Runs> runs_;
  std::unique_ptr<NetworkAccess> network_;  // null: init is not there yet
  std::unique_ptr<Control> control_;
  std::unique_ptr<Watchdog> watchdog_;
  std::optional<MemoryView> memory_view_;
  LossRecord loss_record_;
  std::unique_ptr<Rest> rest_;
  std::int64_t oom_kills_seen_ = 0;
  std::int64_t writers_killed_ = 0;
  // It says when something that a run left behind was last ended for a limit.
  std::optional<std::chrono::steady_clock::time_point> left_behind_ended_;
  std::optional<std::chrono::steady_clock::time_point> left_ended_for_run_;
  std::optional<std::chrono::steady_clock::time_point> refusals_looked_at_;
  bool ended_ = false;
  std::chrono::steady_clock::time_point last_attached_ = std::chrono::steady_clock::now();
};

}  // namespace sandbox::box
