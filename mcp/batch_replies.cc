#include "mcp/batch_replies.h"

#include <nlohmann/json.hpp>

#include "mcp/message.h"

namespace mcp {

void BatchReplies::add(nlohmann::json reply) {
  const std::size_t bytes = reply.is_null() ? 0 : print(reply).size();
  nlohmann::json all;
  {
    const std::lock_guard lock(mutex_);
    if (left_ == 0) return;  // all have been sent
    if (!reply.is_null()) keep(std::move(reply), bytes);
    if (--left_ > 0 || replies_->empty()) return;
    all = std::move(*replies_);
  }
  // Outside of the lock: sending may wait for a slow client.
  send_(std::move(all));
}

void BatchReplies::keep(nlohmann::json reply, std::size_t bytes) {
  if (bytes_ + bytes > kBatchReplyBytesMax) {
    reply = make_error({kInternalError,
                        "the replies to this batch are too large together: ask one by one", nullptr,
                        reply.value("id", nlohmann::json())});
  } else {
    bytes_ += bytes;
  }
  replies_->push_back(std::move(reply));
}

}  // namespace mcp
