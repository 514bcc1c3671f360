// Decides whether what is over its time may be deleted now. A clock that leaps makes everything old
// at once: then, and when a sweep would delete very much, deletion waits until servers have been
// there for a day, so that somebody may notice. Pure: no kernel, no clock, no database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sessions/moment.h"

namespace sessions {

// A sweep leaves this to the next one, whichever server that is of.
struct Upkeep {
  std::optional<std::int64_t> swept_at;  // wall clock; nothing: never
  std::int64_t leap_ms = 0;              // so much later than that, the clock is not believed
  std::optional<std::int64_t> held_at;   // wall clock; nothing: deletion is not held back
  std::int64_t held_ms = 0;              // time of servers since then
  std::string held_why;
  std::int64_t trusted_at = 0;  // wall clock of the sweep before
  bool released = false;        // the next whole sweep deletes, however much it is
  std::string boot_id;          // time of servers was counted up to there
  std::int64_t counted_ms = 0;  // by Moment::uptime_ms
};

// A sweep counts this before it deletes anything.
struct Due {
  std::int64_t sessions = 0;  // over their time by the wall clock
  std::int64_t all = 0;
  bool others = false;  // records or shared files that go with time, too
};

struct HoldDecision {
  Upkeep next;
  bool may_delete = true;
  bool has_begun = false;  // held back from now on
};

// Decides whether a sweep may delete now. `served_since_ms` says, by uptime, since when this server
// has been there, or has swept last.
HoldDecision decide(const Upkeep& before, const Moment& now, std::int64_t served_since_ms,
                    const Due& due, std::int64_t retention_seconds);

// Returns whether a single thing that is over its time may be deleted between two sweeps.
bool may_delete(const Upkeep& upkeep, std::int64_t now_ms);

// Tells people why deletion is held back. REQUIRES: it is held back.
std::string words_of_hold(const Upkeep& upkeep);

}  // namespace sessions
