#include "sandbox/network_rule.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "sandbox/shortened_text.h"

namespace sandbox {

using base::Error;

namespace {

constexpr std::size_t kHostBytesMax = 253;
constexpr std::size_t kLabelBytesMax = 63;
constexpr std::uint16_t kUsualPorts[] = {kHttpPort, kHttpsPort};

Error invalid(std::string_view text, const std::string& why) {
  return base::error(Error::Kind::kInvalid, "\"" + echoed(std::string(text)) + "\" " + why);
}

bool is_label_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kLabelBytesMax && !label.starts_with('-') &&
         !label.ends_with('-') && std::all_of(label.begin(), label.end(), is_label_character);
}

// What inet_aton(3) would take for the last part of an address: then the whole is none of a name.
bool is_number(std::string_view label) {
  const bool hexadecimal = label.starts_with("0x");
  const std::string_view digits = hexadecimal ? label.substr(2) : label;
  return digits.find_first_not_of(hexadecimal ? "0123456789abcdef" : "0123456789") ==
         std::string_view::npos;
}

base::Result<std::uint16_t> parse_port(std::string_view text, std::string_view whole) {
  std::uint16_t port = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failure != std::errc() || end != text.data() + text.size() || port == 0) {
    return invalid(whole, "has no port from 1 to 65535 after its colon");
  }
  return port;
}

bool covers_host(const NetworkRule& rule, std::string_view host) {
  if (!rule.subdomains) return host == rule.host;
  return host.size() > rule.host.size() + 1 && host.ends_with(rule.host) &&
         host[host.size() - rule.host.size() - 1] == '.';
}

}  // namespace

base::Status check_network_rules(const std::vector<NetworkRule>& rules) {
  if (rules.size() > kNetworkRulesMax) {
    return base::error(Error::Kind::kLimit, "at most " + std::to_string(kNetworkRulesMax) +
                                                " hosts can be allowed, and these are " +
                                                std::to_string(rules.size()));
  }
  std::set<std::uint16_t> ports;
  for (const NetworkRule& rule : rules) ports.insert(rule.port);
  if (ports.size() > kNetworkPortsMax) {
    return base::error(Error::Kind::kLimit, "hosts can be allowed on " +
                                                std::to_string(kNetworkPortsMax - 1) +
                                                " different ports beside 80 and 443");
  }
  return base::done();
}

base::Result<std::string> canonical_host(std::string_view text) {
  std::string host(text);
  for (char& c : host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (host.ends_with('.')) host.pop_back();
  if (host.empty() || host.size() > kHostBytesMax) {
    return invalid(text, "is no host name: it must have 1 to 253 characters");
  }
  std::size_t start = 0;
  std::size_t end = 0;
  while (end < host.size()) {
    end = std::min(host.find('.', start), host.size());
    if (!is_label(std::string_view(host).substr(start, end - start))) {
      return invalid(text,
                     "is no host name: labels of letters, digits and '-' with dots between them; "
                     "others than ASCII in their xn-- form");
    }
    if (end < host.size()) start = end + 1;
  }
  if (is_number(std::string_view(host).substr(start))) {
    return invalid(text, "is an address: hosts are allowed by name");
  }
  return host;
}

base::Result<NetworkRule> parse_network_rule(std::string_view text) {
  NetworkRule rule;
  std::string_view host = text;
  if (text.find("://") != std::string_view::npos || text.find('/') != std::string_view::npos) {
    return invalid(text, "is no host: write host or host:port, without a scheme and a path");
  }
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    rule.port = TRY(parse_port(text.substr(colon + 1), text));
    host = text.substr(0, colon);
  }
  if (host.starts_with("*.")) {
    rule.subdomains = true;
    host.remove_prefix(2);
  }
  rule.host = TRY(canonical_host(host));
  // Whoever writes "*.com" or "*" has not meant everybody there.
  if (rule.subdomains && rule.host.find('.') == std::string::npos) {
    return invalid(text, "allows too much: a name with a dot must follow \"*.\"");
  }
  return rule;
}

std::string text_of(const NetworkRule& rule) {
  return (rule.subdomains ? "*." : "") + rule.host +
         (rule.port == 0 ? "" : ":" + std::to_string(rule.port));
}

bool allows(const NetworkRule& rule, std::string_view host, std::uint16_t port) {
  const bool usual =
      std::find(std::begin(kUsualPorts), std::end(kUsualPorts), port) != std::end(kUsualPorts);
  return (rule.port == port || (rule.port == 0 && usual)) && covers_host(rule, host);
}

bool allows(const std::vector<NetworkRule>& rules, std::string_view host, std::uint16_t port) {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const NetworkRule& rule) { return allows(rule, host, port); });
}

bool allows_host(const std::vector<NetworkRule>& rules, std::string_view host) {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const NetworkRule& rule) { return covers_host(rule, host); });
}

bool is_within(const NetworkRule& rule, const std::vector<NetworkRule>& most) {
  return std::any_of(most.begin(), most.end(), [&rule](const NetworkRule& other) {
    const bool port = other.port == rule.port ||
                      (other.port == 0 && std::find(std::begin(kUsualPorts), std::end(kUsualPorts),
                                                    rule.port) != std::end(kUsualPorts));
    const bool host = rule.subdomains ? other.subdomains && (other.host == rule.host ||
                                                             covers_host(other, rule.host))
                                      : covers_host(other, rule.host);
    return port && host;
  });
}

}  // namespace sandbox
