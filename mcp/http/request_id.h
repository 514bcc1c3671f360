// X-Request-Id gives a request one name in the client's log, the proxy's and ours.
#pragma once

#include <string>

#include "mcp/http/message.h"

namespace mcp::http {

inline constexpr const char* kRequestIdHeader = "X-Request-Id";

// Nobody else has made the same.
std::string make_request_id();

// The name that the client, or the proxy in front, has given takes the place of the one that `head`
// has, where there is one such header, of 1 to 128 visible characters of ASCII.
void take_request_id(Request& head);

}  // namespace mcp::http
