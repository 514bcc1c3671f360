#include "mcp/http/sse.h"

#include <charconv>

namespace mcp::http {
namespace {

constexpr const char* kRetryMs = "1000";
constexpr char kSeparator = '-';

// Decimal, without sign or leading zeros.
bool read_number(std::string_view text, std::uint64_t& number) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string to_string(const EventId& id) {
  return std::to_string(id.stream) + kSeparator + std::to_string(id.sequence);
}

std::optional<EventId> parse_event_id(std::string_view text) {
  const std::size_t separator = text.find(kSeparator);
  EventId id;
  if (separator == text.npos || !read_number(text.substr(0, separator), id.stream) ||
      !read_number(text.substr(separator + 1), id.sequence)) {
    return std::nullopt;
  }
  return id;
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
