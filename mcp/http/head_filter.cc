#include "mcp/http/head_filter.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "mcp/http/header_value.h"
#include "mcp/http/message.h"
#include "mcp/http/status.h"

namespace mcp::http {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// Names under which the library puts words of its own, or headers that make it do more than is
// wanted: compressed responses.
constexpr std::array<std::string_view, 6> kDropped{"REMOTE_ADDR", "REMOTE_PORT",     "LOCAL_ADDR",
                                                   "LOCAL_PORT",  "Accept-Encoding", "Upgrade"};

bool same_name(std::string_view a, std::string_view b) {
  const NameLess less;
  return !less(a, b) && !less(b, a);
}

// RFC 9110 section 5.6.2.
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](unsigned char byte) {
    return std::isalnum(byte) != 0 || kMarks.find(static_cast<char>(byte)) != kMarks.npos;
  });
}

void append_value(std::string& text, std::string_view value, bool escape_percent) {
  for (const char byte : value) {
    text += byte;
    if (byte == '%' && escape_percent) text += "25";
  }
}

// 0 when the line is fine.
int add_header(std::string_view line, bool escape_percent, FilteredHead& filtered) {
  const std::size_t colon = line.find(':');
  // White space before the colon, and lines that continue the one before, are how requests are
  // smuggled past a proxy.
  if (colon == line.npos || !is_token(line.substr(0, colon)) || !is_text(line)) return kBadRequest;
  const std::string_view name = line.substr(0, colon);
  for (const std::string_view dropped : kDropped) {
    if (same_name(name, dropped)) return 0;
  }
  if (same_name(name, "Range")) {
    filtered.range = base::trim(line.substr(colon + 1));
    return 0;
  }
  filtered.text.append(name).append(":");
  append_value(filtered.text, line.substr(colon + 1), escape_percent);
  filtered.text += kLineEnd;
  return 0;
}

int check_request_line(std::string_view line, const Bounds& bounds) {
  if (line.size() > bounds.target_bytes) return kTargetTooLong;
  // Spaces part its three words, and nothing outside of ASCII belongs there.
  const bool plain = std::all_of(line.begin(), line.end(),
                                 [](unsigned char byte) { return byte >= 0x20 && byte < 0x7f; });
  const bool three = std::count(line.begin(), line.end(), ' ') == 2;
  const std::size_t target = line.find(' ') + 1;
  return plain && three && line[target] == '/' ? 0 : kBadRequest;
}

}  // namespace

FilteredHead filter_head(std::string_view head, const Bounds& bounds, bool escape_percent) {
  FilteredHead filtered;
  filtered.text.reserve(head.size());
  std::size_t count = 0;
  while (filtered.refusal == 0) {
    const std::size_t end = head.find(kLineEnd);
    if (end == head.npos) return {kBadRequest, "", ""};
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + kLineEnd.size());
    if (line.empty()) break;
    if (count == 0) {
      filtered.refusal = check_request_line(line, bounds);
      filtered.text.append(line).append(kLineEnd);
    } else if (count > bounds.header_count || line.size() > bounds.header_bytes) {
      filtered.refusal = kHeadTooLarge;
    } else {
      filtered.refusal = add_header(line, escape_percent, filtered);
    }
    ++count;
  }
  if (count == 0 && filtered.refusal == 0) filtered.refusal = kBadRequest;
  filtered.text += kLineEnd;
  return filtered;
}

}  // namespace mcp::http
