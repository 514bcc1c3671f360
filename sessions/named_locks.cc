#include "sessions/named_locks.h"

namespace sessions {

std::shared_ptr<std::mutex> NamedLocks::of(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto entry = locks_.find(name); entry != locks_.end()) return entry->second;
  // A lock that nobody holds goes here and nowhere else: the last who held it did so before, and
  // its count of holders says so to this thread. Whoever has the next lock of that name sees all
  // that was done under the one before.
  std::erase_if(locks_, [](const auto& entry) { return entry.second.use_count() == 1; });
  return locks_.emplace(name, std::make_shared<std::mutex>()).first->second;
}

}  // namespace sessions
