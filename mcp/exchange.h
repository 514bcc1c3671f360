// An Exchange takes the answer to one message, and what its call has to say until then.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace mcp {

// An Exchange is made by the transport for each text (a message or a batch) that it hands to a
// Connection: one HTTP response, or the one output of a stdio client. Used from many threads. What
// is sent is the response (no "method" in it), or before it notifications and requests of the call.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // It may wait for room, except on the thread that received the message.
  virtual void send(const nlohmann::json& message) = 0;

  // It is for a message that may be dropped when the client does not keep up.
  virtual void send_if_room(const nlohmann::json& message) = 0;

  // The request that brought the message has this name in the log; empty: it came with none.
  [[nodiscard]] virtual std::string request_id() const { return ""; }

  // Says that nothing more is sent: called once, on whatever thread was the last to hold the
  // exchange. A notification, a response and a cancelled request end without anything having been
  // sent.
  virtual void end() noexcept = 0;
};

}  // namespace mcp
