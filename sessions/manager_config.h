// Settings of a Manager: how sessions are to be.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sessions/grants.h"
#include "sessions/host_uids.h"
#include "sessions/moment.h"
#include "sessions/notice.h"
#include "sessions/quotas.h"

namespace sessions {

class Readiness;

// A Retention says how long records of the past stay.
struct Retention {
  std::int64_t runs_days = 90;
  std::int64_t runs_mb = 1024;              // all runs together
  std::int64_t deleted_days = 365;          // sessions that were deleted, and their audit
  std::int64_t deleted_sessions = 100'000;  // at most so many deleted sessions

  friend bool operator==(const Retention&, const Retention&) = default;
};

struct ManagerConfig : Quotas {
  std::string state_directory;  // exists, ours alone
  std::int64_t paused_max_seconds = 86400;
  std::int64_t autosave_mb = 256;  // the most of a session's variables that is stored; 0: nothing
  Retention retention;
  std::optional<HostUidRange> own_ids;  // as root: an id of its own for each session
  // The processes of a connection's sessions are given up when this server ends. Those of a server
  // whose clients come back after a restart wait for them.
  bool connections_end_with_server = true;
  std::chrono::seconds clients_back_within{3600};  // when a client comes back at all
  GrantedFolders folders;
  GrantedNetwork network;
  std::string environments_directory;
  std::string usual_template;      // where none is asked for; empty: see sandbox/environment.h
  std::size_t spare_sessions = 0;  // made ahead of need, as one that asks for nothing special is
  // Each sweep calls this on its thread, for others who have something to clear up.
  std::function<void()> sweep_others = [] {};
  std::function<Moment()> clock = moment_now;
  // A call holds what this returns while it waits for a run, so that others may be at work
  // meanwhile.
  std::function<std::shared_ptr<void>()> step_aside = [] { return nullptr; };
  std::chrono::milliseconds sweep_interval{60'000};
  std::shared_ptr<Readiness> readiness;  // is told how boxes start; null: nobody wants to know
  // Hears, among others, of whatever is deleted without being asked for, and of what is not, though
  // it is due.
  Notify notify = [](const Notice&) {};
};

}  // namespace sessions
