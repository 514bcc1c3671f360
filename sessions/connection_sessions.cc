#include "sessions/connection_sessions.h"

#include <algorithm>

namespace sessions {

std::string ConnectionSessions::default_of(const Caller& caller) const {
  const std::lock_guard lock(mutex_);
  const auto found = defaults_.find(caller);
  return found == defaults_.end() ? "" : found->second.session_id;
}

void ConnectionSessions::set_default(const Caller& caller, const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  defaults_[caller] = {session_id};
}

std::optional<std::string> ConnectionSessions::take_introduction(const Caller& caller) {
  const std::lock_guard lock(mutex_);
  const auto found = defaults_.find(caller);
  if (found == defaults_.end() || std::exchange(found->second.introduced, true)) {
    return std::nullopt;
  }
  return found->second.session_id;
}

void ConnectionSessions::add_owned(const std::string& connection_id,
                                   const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  owned_[connection_id].push_back(session_id);
}

void ConnectionSessions::forget(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  for (auto& [connection, ids] : owned_) std::erase(ids, session_id);
}

std::vector<std::string> ConnectionSessions::end(const std::string& connection_id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(defaults_,
                [&](const auto& entry) { return entry.first.connection_id == connection_id; });
  const auto found = owned_.find(connection_id);
  if (found == owned_.end()) return {};
  std::vector<std::string> ids = std::move(found->second);
  owned_.erase(found);
  return ids;
}

}  // namespace sessions
