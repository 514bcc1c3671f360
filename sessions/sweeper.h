// The sweep: at start and from time to time, whatever dead servers and boxes left is put right, and
// what is over its time ends. Safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "sessions/ended_boxes.h"
#include "sessions/ground.h"
#include "sessions/network_journals.h"
#include "sessions/record_pruner.h"
#include "sessions/run_ledger.h"
#include "sessions/session_ends.h"
#include "sessions/spare_pool.h"
#include "sessions/state_shares.h"

namespace sessions {

class SessionLists;
class SessionTable;
class UpkeepTable;

class Sweeper {
 public:
  // Tables and services that a sweep puts right.
  struct Parts {
    SessionTable& sessions;
    SessionLists& session_lists;
    UpkeepTable& upkeep;
    PastTable& past;
    RunLedger& ledger;
    NetworkJournals& journals;
    SessionEnds& ends;
    SparePool& spares;
    EndedBoxes& ended;
    StateShares& shares;
  };
  Sweeper(Ground& ground, const Parts& parts);

  // Sweeps on a thread of its own, until stop().
  void start();
  void stop();
  // Settles runs of dead boxes, ends what is over its time, removes what has no owner.
  void sweep(const std::stop_token& stop);

 private:
  void sweep_from_time_to_time(const std::stop_token& stop);
  // Waits for the next sweep; after boxes that end meanwhile it is cleared up at once.
  void wait_for_next_sweep(const std::stop_token& stop);
  void clear_up_after_ended();
  void sweep_session(const Session& session, const Moment& now, bool may_delete);
  void tell_dropped_outputs(const Session& session) const;
  void tell_remade(const std::vector<std::string>& names) const;
  // Clears up after a box of the session that may be dead.
  void clear_up(const Session& session);
  void sweep_directories(const std::vector<Session>& live, const Moment& now, bool may_delete,
                         const std::stop_token& stop);
  // Returns names of directories of no session on record, in which there is nothing, or for long
  // nothing new.
  [[nodiscard]] std::vector<std::string> strangers(const std::vector<Session>& live,
                                                   const Moment& now) const;
  // Returns nothing when this sweep cannot be.
  std::optional<bool> may_delete_in_sweep(const std::vector<Session>& live, const Moment& now);

  Ground& ground_;
  const Parts parts_;
  RecordPruner pruner_;
  std::atomic<std::int64_t> served_since_ms_;  // by Moment::uptime_ms, up to the last sweep
  std::jthread thread_;
};

}  // namespace sessions
