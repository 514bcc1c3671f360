// Bytes that many share.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace mcp::http {

// A Budget is bytes that many hold; one alone may have all of it. What is too much is given up by
// those who hold more than an equal part. Safe from many threads.
class Budget {
 public:
  explicit Budget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void add(const std::string& who, std::size_t bytes) {
    if (bytes == 0) return;
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    held_[who] += bytes;
  }
  // Adds `bytes` and returns true, unless exceeded_by(who) would be true then.
  bool add_if_fair(const std::string& who, std::size_t bytes) {
    if (bytes == 0) return true;
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    held_[who] += bytes;
    if (!is_exceeded_by(who)) return true;
    take_off(who, bytes);
    return false;
  }
  void remove(const std::string& who, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    take_off(who, bytes);
  }
  // Returns whether all hold too much together, and `who` more than an equal part.
  [[nodiscard]] bool exceeded_by(const std::string& who) const {
    const std::lock_guard lock(mutex_);
    return is_exceeded_by(who);
  }

 private:
  void take_off(const std::string& who, std::size_t bytes) {
    const auto holder = held_.find(who);
    if (holder == held_.end()) return;
    bytes_ -= bytes;
    holder->second -= bytes;
    if (holder->second == 0) held_.erase(holder);
  }
  [[nodiscard]] bool is_exceeded_by(const std::string& who) const {
    const auto holder = held_.find(who);
    return holder != held_.end() && bytes_ > bytes_max_ &&
           holder->second > bytes_max_ / held_.size();
  }

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::map<std::string, std::size_t> held_;  // by principal; without entries of 0
};

// Nobody gets what would give it more than are left then, or than `each_max`: one alone has half,
// and who comes later always finds some. The last byte goes to who has none. Safe from many
// threads.
class FairBudget {
 public:
  explicit FairBudget(std::size_t bytes_max) : FairBudget(bytes_max, bytes_max) {}
  FairBudget(std::size_t bytes_max, std::size_t each_max)
      : bytes_max_(bytes_max), each_max_(each_max) {}

  // Holds the bytes until the last copy of what is returned has gone; null: there is no room.
  static std::shared_ptr<const void> take(const std::shared_ptr<FairBudget>& budget,
                                          const std::string& who, std::size_t bytes) {
    if (!budget->add(who, bytes)) return nullptr;
    return {budget.get(), [budget, who, bytes](const void*) { budget->remove(who, bytes); }};
  }

 private:
  bool add(const std::string& who, std::size_t bytes) {
    if (bytes == 0) return true;
    const std::lock_guard lock(mutex_);
    const auto holder = held_.try_emplace(who).first;
    const std::size_t left = bytes_max_ - bytes_;
    const bool room = bytes <= left && holder->second + bytes <= each_max_ &&
                      holder->second + bytes <= left - bytes + 1;
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
    if (holder == held_.end()) return;
    holder->second -= bytes;
    if (holder->second == 0) held_.erase(holder);
  }

  const std::size_t bytes_max_;
  const std::size_t each_max_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::map<std::string, std::size_t> held_;  // by principal; without entries of 0
};

}  // namespace mcp::http
