#include "mcp/http/legacy_sessions.h"

#include <utility>

namespace mcp::http {

std::shared_ptr<Connection> make_connection(const Server& server, Connection::Options options,
                                            const RunWork& run, const ConnectionEnded& ended) {
  const auto self = std::make_shared<std::weak_ptr<Connection>>();
  options.run = [run, self, principal_id = options.principal.id](std::function<void()> work) {
    auto held = self->lock();
    if (held == nullptr) return false;  // it is going
    return run(principal_id, [work = std::move(work), held = std::move(held)] { work(); });
  };
  const auto let_go = [ended, id = options.id](Connection* gone) {
    std::unique_ptr<Connection>(gone).reset();
    if (ended) ended(id);
  };
  std::shared_ptr<Connection> connection(new Connection(server, std::move(options)), let_go);
  *self = connection;
  return connection;
}

bool LegacySessions::is_idle(const LegacySession& session, Clock::time_point since) {
  return session.last_used <= since && session.connection->open_requests() == 0 &&
         !session.log->has_readers();
}

void LegacySessions::end(const LegacySession& session) const {
  session.connection->disconnect();
  session.log->close_all();
  if (ended_) ended_(session.connection_id);
}

bool LegacySessions::add(const std::shared_ptr<LegacySession>& session) {
  std::shared_ptr<LegacySession> old;
  {
    const std::lock_guard lock(mutex_);
    std::size_t own = 0;
    for (const auto& [id, other] : sessions_) {
      if (other->principal.id != session->principal.id) continue;
      ++own;
      if (!is_idle(*other, Clock::now() - limits_.gives_way)) continue;
      if (old == nullptr || other->last_used < old->last_used) old = other;
    }
    const bool full = own >= limits_.sessions - sessions_.size();
    if (full && old == nullptr) return false;
    if (full) {
      sessions_.erase(old->id);
    } else {
      old.reset();
    }
    session->last_used = Clock::now();
    sessions_.emplace(session->id, session);
  }
  if (old != nullptr) end(*old);
  return true;
}

std::shared_ptr<LegacySession> LegacySessions::find(const std::string& id,
                                                    const Principal& principal) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || !are_equal(found->second->principal, principal)) return nullptr;
  found->second->last_used = Clock::now();
  return found->second;
}

void LegacySessions::remove(const std::string& id) {
  std::shared_ptr<LegacySession> session;
  {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    session = found->second;
    sessions_.erase(found);
  }
  end(*session);
}

void LegacySessions::expire() {
  std::vector<std::shared_ptr<LegacySession>> over;
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = sessions_.begin(); entry != sessions_.end();) {
      if (is_idle(*entry->second, Clock::now() - limits_.idle)) {
        over.push_back(entry->second);
        entry = sessions_.erase(entry);
      } else {
        ++entry;
      }
    }
  }
  for (const auto& session : over) end(*session);
}

void LegacySessions::remove_all() {
  for (const auto& session : all()) remove(session->id);
}

std::size_t LegacySessions::count() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

std::vector<std::shared_ptr<LegacySession>> LegacySessions::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<LegacySession>> sessions;
  for (const auto& [id, session] : sessions_) sessions.push_back(session);
  return sessions;
}

}  // namespace mcp::http
