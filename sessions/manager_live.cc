// What goes straight to the box of a session, while it lives.
#include "sandbox/base/clock.h"
#include "sessions/manager.h"

namespace sessions {

using base::Error;

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
  return box.value()->connect(port);
}

void Manager::keep_awake(const Session& session) {
  if (const auto box = sandbox_.find(session.id); box.ok()) (void)box.value()->keep_awake();
}

base::Status Manager::set_lifetime(const Session& session, std::int64_t seconds) {
  const std::int64_t over = base::now_ms() + seconds * 1000;
  // Whole seconds: never shorter than was asked for.
  const std::int64_t lifetime = (over - session.created_at + 999) / 1000;
  TRY(store_.set_lifetime(session.id, lifetime));
  if (const auto box = sandbox_.find(session.id); box.ok()) {
    TRY(box.value()->set_lifetime(session.created_at + lifetime * 1000));
  }
  return base::done();
}

}  // namespace sessions
