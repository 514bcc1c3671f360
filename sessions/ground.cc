#include "sessions/ground.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/random_id.h"
#include "sandbox/environment.h"
#include "sessions/patience.h"
#include "sessions/readiness.h"
#include "sessions/session_directory.h"

namespace sessions {

using base::Error;

Ground::Ground(ManagerConfig settings, sandbox::Sandbox& boxes)
    : config(std::move(settings)),
      sandbox(boxes),
      quotas(config),
      servers(config.state_directory) {}

SessionDirectory Ground::files_of(const std::string& session_id) const {
  return {config.state_directory, session_id};
}

bool Ground::is_owned(const std::string& session_id) const {
  return sandbox.is_alive(files_of(session_id).path());
}

base::Result<sandbox::SessionLock> Ground::own(const std::string& session_id) const {
  const std::string directory = files_of(session_id).path();
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make " + directory, Error::Kind::kUnavailable);
  }
  return sandbox::SessionLock::take(directory);
}

base::Result<sandbox::SessionLock> Ground::own_soon(const std::string& session_id) const {
  auto owned = own(session_id);
  (void)wait_until(kEndPatience, [&] {
    const bool somebodys = !owned.ok() && (owned.error().kind == Error::Kind::kConflict ||
                                           owned.error().kind == Error::Kind::kNotFound);
    if (somebodys) owned = own(session_id);
    return !somebodys;
  });
  return owned;
}

Session Ground::new_session(const std::string& principal_id, const sandbox::Limits& limits) const {
  Session session;
  session.id = base::short_id("session_");
  session.principal_id = principal_id;
  session.limits = limits;
  session.template_name =
      sandbox::usual_template(config.environments_directory, config.usual_template);
  const Quotas quotas_now = quotas.now();
  session.idle_seconds = quotas_now.idle_seconds;
  session.retention_seconds = quotas_now.retention_seconds;
  const Moment now = moment_now();
  session.created_at = session.last_used_at = now.now_ms;
  session.boot_id = now.boot_id;
  session.boot_offset_ms = now.now_ms - now.boottime_ms;
  return session;
}

void Ground::note_start(const Session& session, const base::Error* failure) const {
  if (config.readiness) config.readiness->started(session.principal_id, failure);
  if (failure != nullptr && outcome_of(*failure) != Outcome::kCallersFault) {
    config.notify({Notice::Level::kFailure, "a sandbox did not start: " + failure->message,
                   session.principal_id, session.id});
  }
}

}  // namespace sessions
