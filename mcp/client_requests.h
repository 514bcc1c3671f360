// The questions a connection has put to its client, and the threads that wait for the answers.
// Safe from many threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "base/json_value.h"
#include "mcp/message.h"

namespace mcp {

class ClientRequests {
 public:
  // Returns the id of a new question; wait() for it is to follow.
  nlohmann::json open();

  // A response has come. One that nobody waits for is dropped.
  void settle(const Message& response);

  // Returns the result, or the client's error. Nothing when time is up or `stop` was requested. The
  // question is closed then.
  std::optional<std::variant<base::JsonValue, RpcError>> wait(const nlohmann::json& id,
                                                              std::chrono::milliseconds timeout,
                                                              const std::stop_token& stop);

 private:
  struct Question {
    bool settled = false;
    std::variant<base::JsonValue, RpcError> answer;
  };
  std::mutex mutex_;
  std::condition_variable_any settled_;
  std::int64_t last_id_ = 0;
  std::map<std::int64_t, Question> questions_;
};

}  // namespace mcp
