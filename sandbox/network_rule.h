// Rules say which hosts of the network a session may reach: how rules are written, and what they
// match.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sandbox {

inline constexpr std::size_t kNetworkRulesMax = 256;  // for one session
inline constexpr std::size_t kNetworkPortsMax = 16;   // different ones, 80 and 443 together as one

inline constexpr std::uint16_t kHttpPort = 80;
inline constexpr std::uint16_t kHttpsPort = 443;

// A NetworkRule is "api.example.com" or "*.example.com", either with ":port"; without a port: 80
// and 443. With methods before it and a path behind it, which may end with "*", only such requests
// of HTTP: "GET,HEAD api.example.com/v1/*".
struct NetworkRule {
  std::string host;         // as canonical_host() gives it; of "*.example.com" what follows "*."
  bool subdomains = false;  // one label more, or several; never the host itself
  std::uint16_t port = 0;   // 0: both
  std::vector<std::string> methods = {};  // in order, each once; none: all
  std::string path = {};                  // with its "*", if any; empty: all

  friend bool operator==(const NetworkRule&, const NetworkRule&) = default;
};

// Fails with kInvalid, which says what is wrong, in words that name the text.
base::Result<NetworkRule> parse_network_rule(std::string_view text);
std::string text_of(const NetworkRule& rule);
// Fails with kLimit when they are more than a session can have.
base::Status check_network_rules(const std::vector<NetworkRule>& rules);

// Returns the one spelling in which names are compared, asked for and checked in certificates:
// small letters, no dot at the end, labels as RFC 1123 has them (and "_"). kInvalid for all else:
// names that are not ASCII in their xn-- form only, and no addresses, in whatever spelling.
base::Result<std::string> canonical_host(std::string_view text);

// Returns whether it is the name that stands for an address, by which its host's name is asked for:
// RFC 1035 section 3.5, RFC 3596 section 2.5. `host` as canonical_host() gives it.
bool is_name_of_address(std::string_view host);

// Returns whether `host`, as canonical_host() gives it, is reached at all, if only by some
// requests.
bool allows(const NetworkRule& rule, std::string_view host, std::uint16_t port);
bool allows(const std::vector<NetworkRule>& rules, std::string_view host, std::uint16_t port);
// Returns whether any port of the host is allowed.
bool allows_host(const std::vector<NetworkRule>& rules, std::string_view host);

// Returns whether only some requests to it are allowed, so that each is looked at.
bool limits_requests(const std::vector<NetworkRule>& rules, std::string_view host,
                     std::uint16_t port);
// Returns whether the request is allowed. `path` is as the request has it, with what follows "?".
bool allows_request(const std::vector<NetworkRule>& rules, std::string_view host,
                    std::uint16_t port, std::string_view method, std::string_view path);

// Returns whether there are hosts and ports that both are about.
bool overlap(const NetworkRule& one, const NetworkRule& other);
bool limits_requests(const NetworkRule& rule);

// Returns whether all that `rule` allows is allowed by one of `most`.
bool is_within(const NetworkRule& rule, const std::vector<NetworkRule>& most);
bool are_within(const std::vector<NetworkRule>& rules, const std::vector<NetworkRule>& most);

}  // namespace sandbox
