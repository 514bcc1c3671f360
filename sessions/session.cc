#include "sessions/session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sandbox/files/box_path.h"

namespace sessions {
namespace {

constexpr std::pair<SessionStatus, const char*> kStatuses[] = {
    {SessionStatus::kProvisioning, "provisioning"},
    {SessionStatus::kReady, "ready"},
    {SessionStatus::kRunning, "running"},
    {SessionStatus::kPaused, "paused"},
    {SessionStatus::kStored, "stored"},
    {SessionStatus::kStopped, "stopped"},
    {SessionStatus::kError, "error"},
    {SessionStatus::kDestroyed, "destroyed"},
};

}  // namespace

const char* name_of(SessionStatus status) {
  const auto* found = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                                   [&](const auto& one) { return one.first == status; });
  return found->second;
}

std::optional<SessionStatus> find_session_status(std::string_view name) {
  const auto* found = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                                   [&](const auto& one) { return name == one.second; });
  if (found == std::end(kStatuses)) return std::nullopt;
  return found->first;
}

std::string absolute_path(const Session& session, const std::string& path) {
  const std::string plain = sandbox::files::with_home(path);
  return plain.starts_with('/') ? plain : session.working_directory + "/" + plain;
}

base::Error deleted() {
  return base::error(base::Error::Kind::kNotFound,
                     "this session was deleted; create_session makes one");
}

}  // namespace sessions
