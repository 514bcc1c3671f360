// Which hosts of the network a session may reach: how rules are written, and what they match.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/base/result.h"

namespace sandbox {

inline constexpr std::size_t kNetworkRulesMax = 256;  // of a session
inline constexpr std::size_t kNetworkPortsMax = 16;   // different ones, 80 and 443 together as one

inline constexpr std::uint16_t kHttpPort = 80;
inline constexpr std::uint16_t kHttpsPort = 443;

// "api.example.com", "*.example.com", either with ":port". Without a port: 80 and 443.
struct NetworkRule {
  std::string host;         // as canonical_host() gives it; of "*.example.com" what follows "*."
  bool subdomains = false;  // one label more, or several; never the host itself
  std::uint16_t port = 0;   // 0: both

  friend bool operator==(const NetworkRule&, const NetworkRule&) = default;
};

// kInvalid says what is wrong, in words that name the text.
base::Result<NetworkRule> parse_network_rule(std::string_view text);
std::string text_of(const NetworkRule& rule);
// kLimit: more than a session can have.
base::Status check_network_rules(const std::vector<NetworkRule>& rules);

// The one spelling in which names are compared, asked for and checked in certificates: small
// letters, no dot at the end, labels as RFC 1123 has them (and "_"). kInvalid for all else: names
// that are not ASCII in their xn-- form only, and no addresses, in whatever spelling.
base::Result<std::string> canonical_host(std::string_view text);

// `host` as canonical_host() gives it.
bool allows(const NetworkRule& rule, std::string_view host, std::uint16_t port);
bool allows(const std::vector<NetworkRule>& rules, std::string_view host, std::uint16_t port);
// Whether any port of the host is.
bool allows_host(const std::vector<NetworkRule>& rules, std::string_view host);

// Whether all that `rule` allows is allowed by one of `most`.
bool is_within(const NetworkRule& rule, const std::vector<NetworkRule>& most);

}  // namespace sandbox
