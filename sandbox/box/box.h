// One live session: its init, its cgroup, its runs, its control socket, and how long it stays.
#pragma once

#include <memory>
#include <string>

#include "sandbox/base/fd.h"
#include "sandbox/base/result.h"
#include "sandbox/box/control.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/init_process.h"
#include "sandbox/box/runs.h"
#include "sandbox/box/watchdog.h"
#include "sandbox/box_spec.h"
#include "sandbox/cgroup.h"
#include "sandbox/disk_quota.h"

namespace sandbox::box {

class Box {
 public:
  // Starts everything; the box answers on its socket when this returns.
  static base::Result<std::unique_ptr<Box>> start(EventLoop& loop, BoxSpec spec);
  ~Box();

 private:
  Box(EventLoop& loop, BoxSpec spec) : loop_(loop), spec_(std::move(spec)) {}

  base::Status open_directories();
  base::Status start_init();
  base::Status start_control();
  base::Status start_runs();

  base::Status set_paused(bool paused);
  void used();
  [[nodiscard]] nlohmann::json status();
  [[nodiscard]] nlohmann::json isolation() const;
  void end(Cause cause, const std::string& why);
  // `why`: what is not said by the cause.
  void limit_reached(Cause cause, bool stuck, const std::string& why = "");

  void check_life();
  [[nodiscard]] bool idle_too_long() const;
  bool ends_without_server();
  [[nodiscard]] bool directory_is_gone() const;

  EventLoop& loop_;
  BoxSpec spec_;
  base::UniqueFd runs_directory_;
  base::UniqueFd workspace_;
  base::UniqueFd home_;
  base::UniqueFd tmp_;
  std::vector<base::UniqueFd> tmpfs_;
  base::UniqueFd session_directory_;
  std::unique_ptr<DiskQuota> disk_quota_;  // null: the disk is watched
  std::unique_ptr<Cgroup> cgroup_;
  std::unique_ptr<InitProcess> init_;
  std::unique_ptr<Runs> runs_;
  std::unique_ptr<Control> control_;
  std::unique_ptr<Watchdog> watchdog_;
  bool paused_ = false;
  bool ended_ = false;
  std::chrono::steady_clock::time_point last_use_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_attached_ = std::chrono::steady_clock::now();
};

}  // namespace sandbox::box
