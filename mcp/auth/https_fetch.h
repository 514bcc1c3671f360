// Fetches one document over HTTPS, by libcurl: within bounds of size and time, without redirects.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "mcp/auth/refusal.h"

namespace mcp::auth {

struct FetchBounds {
  std::size_t bytes_max = 256 * 1024;
  std::chrono::milliseconds time_max{5000};
};

// Returns nothing for an https URL, or an http one of this machine's loopback.
std::optional<Refusal> check_fetch_url(const std::string& url);

// Returns the body of a 200; anything else is refused. REQUIRES: check_fetch_url(url) had nothing
// to say.
std::variant<std::string, Refusal> fetch(const std::string& url, const FetchBounds& bounds = {});

}  // namespace mcp::auth
