#include "mcp/pending_requests.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/message.h"

namespace mcp {

std::optional<std::stop_token> PendingRequests::open(const nlohmann::json& id) {
  const std::lock_guard lock(mutex_);
  const auto [entry, inserted] = entries_.try_emplace(print(id));
  if (!inserted) return std::nullopt;
  return entry->second.stop.get_token();
}

bool PendingRequests::close(const nlohmann::json& id) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(print(id));
  if (entry == entries_.end()) return false;
  const bool send = !entry->second.cancelled;
  entries_.erase(entry);
  return send;
}

bool PendingRequests::cancel(const nlohmann::json& id) {
  std::unique_lock lock(mutex_);
  const auto entry = entries_.find(print(id));
  if (entry == entries_.end()) return false;
  entry->second.cancelled = true;
  std::stop_source stop = entry->second.stop;
  lock.unlock();
  // Outside of the lock: callbacks of the token run here.
  stop.request_stop();
  return true;
}

void PendingRequests::cancel_all() {
  std::vector<std::stop_source> stops;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [text, entry] : entries_) {
      entry.cancelled = true;
      stops.push_back(entry.stop);
    }
  }
  for (std::stop_source& stop : stops) stop.request_stop();
}

bool PendingRequests::is_open(const nlohmann::json& id) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(print(id));
}

std::size_t PendingRequests::count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace mcp
