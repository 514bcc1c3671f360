#include "sessions/named_locks.h"

namespace sessions {

std::shared_ptr<std::mutex> NamedLocks::of(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto entry = locks_.find(name); entry != locks_.end()) {
    if (auto known = entry->second.lock()) return known;
  }
  // Nobody holds it; nor those of names that nobody will ask for again.
  std::erase_if(locks_, [](const auto& entry) { return entry.second.expired(); });
  auto made = std::make_shared<std::mutex>();
  locks_[name] = made;
  return made;
}

}  // namespace sessions
