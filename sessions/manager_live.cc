// Calls that go straight to the box of a session, while it lives.
#include <cstdlib>

#include "sessions/manager.h"

namespace sessions {

using base::Error;

namespace {

constexpr std::int64_t kSameTimeMs = 2000;

}  // namespace

base::Result<sandbox::RunInput> Manager::input_of(const std::string& principal_id,
                                                  const std::string& run_id) {
  const Run row = TRY(store_.find_run(principal_id, run_id));
  if (row.record) return base::error(Error::Kind::kNotFound, "this run has ended");
  return TRY(sandbox_.find(row.session_id))->input_of(run_id);
}

base::Status Manager::end_input(const std::string& principal_id, const std::string& run_id) {
  const Run row = TRY(store_.find_run(principal_id, run_id));
  if (row.record) return base::error(Error::Kind::kNotFound, "this run has ended");
  return TRY(sandbox_.find(row.session_id))->end_input(run_id);
}

base::Result<sandbox::BoxStatus> Manager::live_status(const Session& session) {
  const auto box = TRY(sandbox_.look_at(session.id));
  return box->status();
}

base::Status Manager::end_context(const Session& session, const std::string& context) {
  return TRY(sandbox_.find(session.id))->end_context(context);
}

base::Result<base::UniqueFd> Manager::connect(const Session& session, std::uint16_t port) {
  const auto box = sandbox_.find(session.id);
  if (!box.ok()) {
    return base::error(
        Error::Kind::kNotFound,
        "the session does not run, so nothing listens on port " + std::to_string(port));
  }
  base::UniqueFd there = TRY(box.value()->connect(port));
  // That has resumed it. Where the row cannot be written, a look at the box still says so.
  if (session.status == SessionStatus::kPaused) {
    (void)store_.set_session_status(session.id, SessionStatus::kReady, "");
  }
  return there;
}

void Manager::keep_awake(const Session& session) {
  if (const auto box = sandbox_.find(session.id); box.ok()) (void)box.value()->keep_awake();
}

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

bool lifetime_is_over(const Session& session, const Moment& now) {
  const auto left = lifetime_left_ms(session, now);
  return !session.pauses_at_end && left && *left <= 0;
}

base::Status Manager::set_lifetime(const Session& session, std::int64_t seconds) {
  // From now on, counted from when it was made. Whole seconds: never shorter than was asked for.
  Session without_time = session;
  without_time.lifetime_seconds = 0;
  const std::int64_t age_ms = -lifetime_left_ms(without_time, moment_now()).value_or(0);
  const std::int64_t lifetime = (age_ms + seconds * 1000 + 999) / 1000;
  TRY(store_.set_lifetime(session.id, lifetime));
  if (const auto box = sandbox_.find(session.id); box.ok()) {
    TRY(box.value()->set_lifetime(lifetime * 1000 - age_ms, session.pauses_at_end));
  }
  return base::done();
}

}  // namespace sessions
