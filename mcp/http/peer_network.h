// A caller counts as its network before anybody knows its principal.
#pragma once

#include <string>

namespace mcp::http {

// Returns the address as it is, but for IPv6's: whoever has one has the 2^64 of its network (RFC
// 6177), so that is what it returns, as in "2001:db8:0:7::/64". An IPv4 address that is mapped into
// IPv6 counts as itself, and "::1" as well.
std::string network_of(const std::string& peer);

}  // namespace mcp::http
