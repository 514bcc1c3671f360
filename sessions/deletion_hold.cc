#include "sessions/deletion_hold.h"

#include <algorithm>

#include "base/clock.h"

namespace sessions {
namespace {

constexpr std::int64_t kHoldMs = 86'400'000;
// A sweep that would delete fewer is nothing unusual, nor one that would delete a smaller part.
constexpr std::int64_t kManySessions = 20;
constexpr std::int64_t kPart = 10;
// However short the retention is: servers are away for some time without anything being wrong.
constexpr std::int64_t kLeapMsLeast = 3'600'000;
constexpr std::int64_t kHourMs = 3'600'000;

std::int64_t leap_ms_of(std::int64_t retention_seconds) {
  return std::max(retention_seconds * 1000 / 2, kLeapMsLeast);
}

std::string in_hours(std::int64_t ms) {
  const std::int64_t hours = ms / kHourMs;
  return hours < 72 ? std::to_string(hours) + " hours" : std::to_string(hours / 24) + " days";
}

// Time that several servers have served side by side counts once.
std::int64_t served_ms(const Upkeep& before, const Moment& now, std::int64_t served_since_ms) {
  const bool same_start = before.boot_id == now.boot_id;
  const std::int64_t from =
      same_start ? std::max(before.counted_ms, served_since_ms) : served_since_ms;
  return std::max<std::int64_t>(now.uptime_ms - from, 0);
}

std::string reason_to_hold(const Upkeep& before, const Moment& now, const Due& due,
                           std::int64_t leap_ms) {
  const bool has_something = due.all > 0 || due.others;
  if (has_something && before.swept_at && now.now_ms - *before.swept_at > leap_ms) {
    return "the clock is " + in_hours(now.now_ms - *before.swept_at) +
           " ahead of the last time that hutch looked";
  }
  if (due.sessions >= kManySessions && due.sessions * kPart > due.all) {
    return std::to_string(due.sessions) + " of " + std::to_string(due.all) +
           " sessions would be deleted at once";
  }
  return "";
}

// A hold goes on until the clock is right again and nothing is left to delete.
void go_on(HoldDecision& decision, const Moment& now, const Due& due, std::int64_t served) {
  Upkeep& next = decision.next;
  next.held_ms += served;
  const bool is_right = now.now_ms - (next.trusted_at + next.held_ms) <= next.leap_ms;
  const bool is_over = next.held_ms >= kHoldMs;
  if (is_over || (is_right && due.sessions == 0)) {
    next.held_at.reset();
    next.released = is_over;
  }
  decision.may_delete = !next.held_at;
}

}  // namespace

HoldDecision decide(const Upkeep& before, const Moment& now, std::int64_t served_since_ms,
                    const Due& due, std::int64_t retention_seconds) {
  HoldDecision decision{before, true, false};
  Upkeep& next = decision.next;
  const std::int64_t served = served_ms(before, now, served_since_ms);
  next.leap_ms = leap_ms_of(retention_seconds);
  if (before.held_at) {
    go_on(decision, now, due, served);
  } else if (!before.released) {
    next.held_why = reason_to_hold(before, now, due, next.leap_ms);
    if (!next.held_why.empty()) {
      next.held_at = now.now_ms;
      next.held_ms = 0;
      next.trusted_at = before.swept_at.value_or(now.now_ms);
      decision.may_delete = false;
      decision.has_begun = true;
    }
  }
  next.swept_at = now.now_ms;
  next.boot_id = now.boot_id;
  next.counted_ms = now.uptime_ms;
  return decision;
}

bool may_delete(const Upkeep& upkeep, std::int64_t now_ms) {
  if (upkeep.held_at) return false;
  return upkeep.released || !upkeep.swept_at || now_ms - *upkeep.swept_at <= upkeep.leap_ms;
}

std::string words_of_hold(const Upkeep& upkeep) {
  const std::int64_t left = std::max<std::int64_t>(kHoldMs - upkeep.held_ms, 0);
  return "nothing that is over its time is deleted since " +
         base::to_rfc3339(upkeep.held_at.value_or(0)) + ", because " + upkeep.held_why +
         ": hutch waits until servers have been there for 24 hours, of which " +
         std::to_string((left + kHourMs - 1) / kHourMs) +
         " are left; `hutch sessions rm --expired` deletes it now";
}

}  // namespace sessions
