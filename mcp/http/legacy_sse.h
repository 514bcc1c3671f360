// The HTTP+SSE transport of 2024-11-05: one stream for all answers, and a place to post to. Lives
// beside the other one for clients that know nothing newer.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
#pragma once

#include <memory>

#include "mcp/http/legacy_sessions.h"
#include "mcp/http/message.h"
#include "mcp/http/transport_parts.h"

namespace mcp::http {

// It is safe from many threads. Requests have passed the door.
class LegacySse {
 public:
  static constexpr const char* kStreamPath = "/sse";
  static constexpr const char* kPostPath = "/messages";

  explicit LegacySse(TransportParts parts);

  Response open(const Request& request);  // GET kStreamPath
  Response post(const Request& request);  // POST kPostPath?sessionId=...

  [[nodiscard]] LegacySessions& sessions() { return *sessions_; }

 private:
  const TransportParts parts_;
  // Streams that are still open may outlive this.
  const std::shared_ptr<LegacySessions> sessions_;
};

}  // namespace mcp::http
