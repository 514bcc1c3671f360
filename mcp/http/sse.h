// Server-sent events as MCP uses them.
// https://html.spec.whatwg.org/multipage/server-sent-events.html
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mcp/http/message.h"

namespace mcp::http {

// Names an event for Last-Event-ID: which stream of the session, and which of its events. Stream 0
// is the one of messages that answer nothing; event 0 comes before the first message.
struct EventId {
  std::uint64_t stream = 0;
  std::uint64_t sequence = 0;
};

std::string to_string(const EventId& id);

// Returns nothing for what to_string() cannot have made.
std::optional<EventId> parse_event_id(std::string_view text);

// Returns the event of one message, in one line.
std::string message_event(const std::string& message);
std::string message_event(const std::string& message, const EventId& id);
// Returns the event that tells a client of the 2024-11-05 transport where to post.
std::string endpoint_event(const std::string& target);
// An id to resume from before there is any message, and how long to wait before that.
std::string priming_event(const EventId& id);
// Shows the client, and whatever is between, that the stream lives.
inline constexpr std::string_view kKeepAliveComment = ": keep-alive\n\n";

// Headers of a response that is such a stream.
Response stream_response();

}  // namespace mcp::http
