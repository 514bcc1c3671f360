#include "sessions/session_time.h"

#include <cstdlib>

namespace sessions {

namespace {

constexpr std::int64_t kSameTimeMs = 2000;

}  // namespace

std::optional<std::int64_t> lifetime_left_ms(const Session& session, const Moment& now) {
  if (!session.lifetime_seconds) return std::nullopt;
  const std::int64_t over = session.created_at + *session.lifetime_seconds * 1000;
  const bool same_start = !session.boot_id.empty() && session.boot_id == now.boot_id;
  return over - (same_start ? now.boottime_ms + session.boot_offset_ms : now.now_ms);
}

std::optional<std::int64_t> ends_at_ms(const Session& session) {
  const Moment now = moment_now();
  const auto left = lifetime_left_ms(session, now);
  if (!left) return std::nullopt;
  const std::int64_t as_made = session.created_at + *session.lifetime_seconds * 1000;
  const std::int64_t as_it_is = now.now_ms + *left;
  // Small differences are how often clocks are read, and would be another time at each look.
  return std::abs(as_it_is - as_made) < kSameTimeMs ? as_made : as_it_is;
}

bool is_live(const Session& session, const Moment& now) {
  return session.status != SessionStatus::kDestroyed && !lifetime_is_over(session, now);
}

bool lifetime_is_over(const Session& session, const Moment& now) {
  const auto left = lifetime_left_ms(session, now);
  return !session.pauses_at_end && left && *left <= 0;
}

std::int64_t lifetime_to_end_in(const Session& session, std::int64_t seconds, const Moment& now) {
  Session without_time = session;
  without_time.lifetime_seconds = 0;
  const std::int64_t age_ms = -lifetime_left_ms(without_time, now).value_or(0);
  return (age_ms + seconds * 1000 + 999) / 1000;
}

}  // namespace sessions
