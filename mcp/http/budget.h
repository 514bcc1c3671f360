// Bytes that many share.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace mcp::http {

class Budget {
 public:
  explicit Budget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void add(std::size_t bytes) { bytes_ += bytes; }
  void remove(std::size_t bytes) { bytes_ -= bytes; }
  [[nodiscard]] bool exceeded() const { return bytes_ > bytes_max_; }

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> bytes_ = 0;
};

// The same, but nobody takes more than half: what one holds keeps no other out.
class FairBudget {
 public:
  explicit FairBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Holds the bytes until the last copy of what is returned has gone; null: there is no room.
  static std::shared_ptr<const void> take(const std::shared_ptr<FairBudget>& budget,
                                          const std::string& who, std::size_t bytes) {
    if (!budget->add(who, bytes)) return nullptr;
    return {budget.get(), [budget, who, bytes](const void*) { budget->remove(who, bytes); }};
  }

 private:
  bool add(const std::string& who, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto holder = held_.try_emplace(who).first;
    const bool room = bytes <= bytes_max_ - bytes_ && holder->second + bytes <= bytes_max_ / 2;
    if (room) {
      bytes_ += bytes;
      holder->second += bytes;
    }
    if (holder->second == 0) held_.erase(holder);
    return room;
  }

  void remove(const std::string& who, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ -= bytes;
    const auto holder = held_.find(who);
    if (holder != held_.end() && (holder->second -= bytes) == 0) held_.erase(holder);
  }

  const std::size_t bytes_max_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::map<std::string, std::size_t> held_;  // of whom it is not nothing
};

}  // namespace mcp::http
