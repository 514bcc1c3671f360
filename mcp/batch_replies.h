// The replies to one JSON-RPC batch, from whatever threads they come.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

#include <nlohmann/json.hpp>

namespace mcp {

// Sends them as one array when the last has come; nothing when none was to be sent.
class BatchReplies {
 public:
  BatchReplies(std::size_t expected, std::function<void(nlohmann::json all)> send)
      : left_(expected), send_(std::move(send)) {}

  // Null: this request gets no reply.
  void add(nlohmann::json reply) {
    nlohmann::json all;
    {
      const std::lock_guard lock(mutex_);
      if (left_ == 0) return;  // all have been sent
      if (!reply.is_null()) replies_.push_back(std::move(reply));
      if (--left_ > 0 || replies_.empty()) return;
      all = std::move(replies_);
    }
    // Outside of the lock: sending may wait for a slow client.
    send_(std::move(all));
  }

 private:
  std::mutex mutex_;
  std::size_t left_;
  const std::function<void(nlohmann::json)> send_;
  nlohmann::json replies_ = nlohmann::json::array();
};

}  // namespace mcp
