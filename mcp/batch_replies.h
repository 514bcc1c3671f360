// The replies to one JSON-RPC batch, from whatever threads they come.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "base/json_value.h"

namespace mcp {

// All printed replies to one batch may have so many bytes together; a reply that would exceed them
// is replaced by an error.
inline constexpr std::size_t kBatchReplyBytesMax = 16U << 20;

// Sends the replies as one array when the last has come; sends nothing when there is none.
class BatchReplies {
 public:
  BatchReplies(std::size_t expected, std::function<void(nlohmann::json all)> send)
      : left_(expected), send_(std::move(send)) {}

  // Adds a reply; null when this request gets none.
  void add(nlohmann::json reply);

 private:
  void keep(nlohmann::json reply, std::size_t bytes);

  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::size_t left_;
  const std::function<void(nlohmann::json)> send_;
  base::JsonValue replies_ = base::JsonValue::array();
};

}  // namespace mcp
