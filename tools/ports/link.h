// Links to servers in sessions, for people: hosts of their own, so that no page of code shares an
// origin with anything else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tools::ports {

inline constexpr const char* kAccessParameter = "hutch_access";

// Returns whether hutch itself answers at hosts with that port: E2B's SDKs look there for envd and
// for the interpreter of a sandbox. No server of code is reached at them.
bool is_port_of_ours(std::uint16_t port);

// Returns "https://3000-session-k2.example.org/" for a server at `public_url`; nothing where that
// is an address, below which there are no names.
std::optional<std::string> host_url(const std::string& public_url, const std::string& session_id,
                                    std::uint16_t port);

// Returns "example.org:80", below which these hosts are; empty: there are none.
std::string domain_of(const std::string& public_url);

// Returns the target of a request, but for the part that lets in.
std::string without_access(std::string_view target);

}  // namespace tools::ports
