#include "mcp/http/request_id.h"

#include <algorithm>

#include "base/random_id.h"

namespace mcp::http {
namespace {

constexpr std::size_t kRequestIdBytesMax = 128;

}  // namespace

std::string make_request_id() { return base::random_id(""); }

void take_request_id(Request& head) {
  if (head.headers.count(kRequestIdHeader) != 1) return;
  const std::string_view given = head.header(kRequestIdHeader);
  const bool is_visible =
      std::all_of(given.begin(), given.end(), [](char byte) { return byte > 0x20 && byte < 0x7f; });
  if (!given.empty() && given.size() <= kRequestIdBytesMax && is_visible) head.id = given;
}

}  // namespace mcp::http
