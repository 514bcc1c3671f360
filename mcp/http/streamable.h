// Streamable HTTP at one path: the stateless requests of 2026-07-28, and the sessions of the
// revisions before it. Which of the two a POST belongs to is decided by its body.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mcp/http/legacy_sessions.h"
#include "mcp/http/message.h"
#include "mcp/http/post_exchange.h"
#include "mcp/http/transport_parts.h"
#include "mcp/inbound.h"

namespace mcp::http {

// It is safe from many threads. Requests have passed the door.
class Streamable {
 public:
  explicit Streamable(TransportParts parts);

  Response answer(const Request& request);

  [[nodiscard]] LegacySessions& sessions() { return sessions_; }
  // Ends the streams that wait for something to happen, and says so on them. Whoever goes away
  // from now on has cancelled nothing.
  void stop();

 private:
  Response post(const Request& request);
  Response post_modern(const Request& request, Inbound inbound);
  Response post_legacy(const Request& request, Inbound inbound);
  Response initialize(const Request& request, Inbound inbound);
  Response post_in_session(const Request& request, Inbound inbound,
                           const std::shared_ptr<LegacySession>& session);
  Response get(const Request& request);
  Response remove(const Request& request);
  // Returns null when `refusal` says why.
  std::shared_ptr<LegacySession> session_of(const Request& request, Response& refusal);
  bool is_polled(const Inbound& inbound) const;
  // Sends `reader` what is on the stream of the log after `from`, and what comes, for as long as
  // the reader is there.
  void send_log(const std::shared_ptr<EventLog>& log, const EventId& from,
                const std::shared_ptr<Stream>& reader, bool prime);
  void remember(const std::shared_ptr<Connection>& connection);
  std::optional<nlohmann::json> wait(PostExchange& exchange);

  const TransportParts parts_;
  LegacySessions sessions_;
  std::atomic<std::size_t> waiting_ = 0;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::vector<std::weak_ptr<Connection>> streaming_;  // for modern requests
};

}  // namespace mcp::http
