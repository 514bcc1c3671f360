#include "mcp/http/sse.h"

#include "base/text.h"

namespace mcp::http {
namespace {

constexpr const char* kRetryMs = "1000";
constexpr char kSeparator = '-';

// Decimal, without sign or leading zeros.
std::optional<std::uint64_t> number_in(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return base::number_of<std::uint64_t>(text);
}

}  // namespace

std::string to_string(const EventId& id) {
  return std::to_string(id.stream) + kSeparator + std::to_string(id.sequence);
}

std::optional<EventId> parse_event_id(std::string_view text) {
  const std::size_t separator = text.find(kSeparator);
  if (separator == text.npos) return std::nullopt;
  const auto stream = number_in(text.substr(0, separator));
  const auto sequence = number_in(text.substr(separator + 1));
  if (!stream || !sequence) return std::nullopt;
  return EventId{*stream, *sequence};
}

std::string message_event(const std::string& message) {
  return "event: message\ndata: " + message + "\n\n";
}

std::string message_event(const std::string& message, const EventId& id) {
  return "id: " + to_string(id) + "\n" + message_event(message);
}

std::string endpoint_event(const std::string& target) {
  return "event: endpoint\ndata: " + target + "\n\n";
}

std::string priming_event(const EventId& id) {
  return "id: " + to_string(id) + "\nretry: " + kRetryMs + "\ndata: \n\n";
}

Response stream_response() {
  Response response;
  response.content_type = "text/event-stream";
  response.headers = {{"Cache-Control", "no-cache, no-transform"}, {"X-Accel-Buffering", "no"}};
  return response;
}

}  // namespace mcp::http
