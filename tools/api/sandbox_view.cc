#include "tools/api/sandbox_view.h"

#include <string>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "sessions/host_id.h"
#include "sessions/session_time.h"
#include "sessions/session_tokens.h"
#include "tools/ports/link.h"

namespace tools::api {

using nlohmann::json;

namespace {

bool is_asleep(const sessions::Session& session) {
  return session.status == sessions::SessionStatus::kPaused ||
         session.status == sessions::SessionStatus::kStored;
}

json common_view(const sessions::Session& session) {
  return {{"sandboxID", sessions::host_id(session.id)},
          {"templateID", session.template_name},
          {"clientID", "hutch"},
          {"envdVersion", e2b::kEnvdVersion},
          {"state", is_asleep(session) ? "paused" : "running"},
          {"startedAt", base::to_rfc3339(session.created_at)},
          {"metadata", session.metadata},
          {"cpuCount", session.limits.cpus},
          {"memoryMB", session.limits.memory_mb},
          {"diskSizeMB", session.limits.disk_mb}};
}

}  // namespace

json sandbox_view(const sessions::SessionState& state) {
  const sessions::Session& session = state.session;
  json value = common_view(session);
  value["status"] = name_of(session.status);
  if (const auto tier = sessions::tier_of(session.status)) value["tier"] = name_of(*tier);
  if (const auto over = sessions::ends_at_ms(session)) {
    value["timeout"] = *session.lifetime_seconds;
    value["endAt"] = base::to_rfc3339(*over);
  }
  return value;
}

namespace e2b {

base::Result<json> sandbox_view(const Services& services, const sessions::Session& session) {
  const std::string token = TRY(services.tokens.token_of(session.id));
  const std::string domain =
      services.public_url ? tools::ports::domain_of(services.public_url()) : "";
  json value = common_view(session);
  value["envdAccessToken"] = token;
  value["trafficAccessToken"] = token;
  value["domain"] = domain.empty() ? json() : json(domain);
  const auto over = sessions::ends_at_ms(session);
  value["endAt"] = over ? base::to_rfc3339(*over) : end_of_endless(session);
  return value;
}

std::string end_of_endless(const sessions::Session& session) {
  return base::to_rfc3339(session.created_at + kLifetimeSecondsMax * 1000);
}

}  // namespace e2b
}  // namespace tools::api
