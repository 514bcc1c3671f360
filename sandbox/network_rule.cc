#include "sandbox/network_rule.h"

#include <algorithm>
#include <set>

#include "base/shortened_text.h"
#include "base/text.h"

namespace sandbox {

using base::Error;

namespace {

constexpr std::size_t kHostBytesMax = 253;
constexpr std::size_t kLabelBytesMax = 63;
constexpr std::uint16_t kUsualPorts[] = {kHttpPort, kHttpsPort};

Error invalid(std::string_view text, const std::string& why) {
  return base::invalid("\"" + base::echoed(std::string(text)) + "\" " + why);
}

bool is_label_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kLabelBytesMax && !label.starts_with('-') &&
         !label.ends_with('-') && std::all_of(label.begin(), label.end(), is_label_character);
}

// Returns whether inet_aton(3) would take the label for the last part of an address: then the whole
// is no name.
bool is_number(std::string_view label) {
  const bool hexadecimal = label.starts_with("0x");
  const std::string_view digits = hexadecimal ? label.substr(2) : label;
  return digits.find_first_not_of(hexadecimal ? "0123456789abcdef" : "0123456789") ==
         std::string_view::npos;
}

base::Result<std::uint16_t> parse_port(std::string_view text, std::string_view whole) {
  const auto port = base::number_of<std::uint16_t>(text);
  if (!port || *port == 0) return invalid(whole, "has no port from 1 to 65535 after its colon");
  return *port;
}

bool covers_host(const NetworkRule& rule, std::string_view host) {
  if (!rule.subdomains) return host == rule.host;
  return host.size() > rule.host.size() + 1 && host.ends_with(rule.host) &&
         host[host.size() - rule.host.size() - 1] == '.';
}

base::Result<std::vector<std::string>> parse_methods(std::string_view list, std::string_view text) {
  std::vector<std::string> methods;
  for (const std::string_view method : base::split(list, ',')) {
    const bool is_word = !method.empty() && std::all_of(method.begin(), method.end(), [](char c) {
      return (c >= 'A' && c <= 'Z') || c == '-';
    });
    if (!is_word) return invalid(text, "has no methods before the space, such as GET,HEAD");
    methods.emplace_back(method);
  }
  std::sort(methods.begin(), methods.end());
  methods.erase(std::unique(methods.begin(), methods.end()), methods.end());
  return methods;
}

// Two spellings of one path, or one that leads out of where it begins: hosts differ in what they
// take it for.
bool is_plain_path(std::string_view path) {
  if (!path.starts_with('/') || path.find("//") != std::string_view::npos) return false;
  for (const std::string_view part : base::split(path, '/')) {
    if (part == "." || part == "..") return false;
  }
  return std::all_of(path.begin(), path.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '%' && c != '\\' && c != '?' && c != '#' && c != ';';
  });
}

base::Result<std::string> parse_path(std::string_view path, std::string_view text) {
  const std::string_view before_star = path.substr(0, path.find('*'));
  if (before_star.size() + 1 < path.size() || !is_plain_path(before_star)) {
    return invalid(text, "has a path that is none: /v1/models, or /v1/* for all that begin so");
  }
  return std::string(path == "/*" ? "" : path);
}

bool has_method(const NetworkRule& rule, std::string_view method) {
  return rule.methods.empty() ||
         std::find(rule.methods.begin(), rule.methods.end(), method) != rule.methods.end();
}

bool covers_path(std::string_view allowed, std::string_view path) {
  if (allowed.empty()) return true;
  if (!is_plain_path(path)) return false;
  if (!allowed.ends_with('*')) return path == allowed;
  return path.starts_with(allowed.substr(0, allowed.size() - 1));
}

bool is_path_within(std::string_view path, std::string_view most) {
  if (most.empty() || path == most) return true;
  if (path.empty() || !most.ends_with('*')) return false;
  return path.starts_with(most.substr(0, most.size() - 1));
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
  std::string host = base::lower(text);
  if (host.ends_with('.')) host.pop_back();
  if (host.empty() || host.size() > kHostBytesMax) {
    return invalid(text, "is no host name: it must have 1 to 253 characters");
  }
  const auto labels = base::split(host, '.');
  if (!std::all_of(labels.begin(), labels.end(), is_label)) {
    return invalid(text,
                   "is no host name: labels of letters, digits and '-' with dots between them; "
                   "others than ASCII in their xn-- form");
  }
  if (is_number(labels.back())) {
    return invalid(text, "is an address: hosts are allowed by name");
  }
  return host;
}

bool is_name_of_address(std::string_view host) {
  for (const std::string_view top : {"in-addr.arpa", "ip6.arpa"}) {
    if (host == top || (host.ends_with(top) && host[host.size() - top.size() - 1] == '.')) {
      return true;
    }
  }
  return false;
}

base::Result<NetworkRule> parse_network_rule(std::string_view text) {
  NetworkRule rule;
  std::string_view host = text;
  if (text.find("://") != std::string_view::npos) {
    return invalid(text, "is no host: write host, host:port or host/path, without a scheme");
  }
  if (const std::size_t space = host.find(' '); space != std::string_view::npos) {
    rule.methods = TRY(parse_methods(host.substr(0, space), text));
    host.remove_prefix(space + 1);
  }
  if (const std::size_t slash = host.find('/'); slash != std::string_view::npos) {
    rule.path = TRY(parse_path(host.substr(slash), text));
    host = host.substr(0, slash);
  }
  if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    rule.port = TRY(parse_port(host.substr(colon + 1), text));
    host = host.substr(0, colon);
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
  std::string text = base::join(rule.methods, ",");
  if (!text.empty()) text += ' ';
  return text + (rule.subdomains ? "*." : "") + rule.host +
         (rule.port == 0 ? "" : ":" + std::to_string(rule.port)) + rule.path;
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

bool limits_requests(const std::vector<NetworkRule>& rules, std::string_view host,
                     std::uint16_t port) {
  return std::none_of(rules.begin(), rules.end(), [&](const NetworkRule& rule) {
    return !limits_requests(rule) && allows(rule, host, port);
  });
}

bool allows_request(const std::vector<NetworkRule>& rules, std::string_view host,
                    std::uint16_t port, std::string_view method, std::string_view path) {
  return std::any_of(rules.begin(), rules.end(), [&](const NetworkRule& rule) {
    return allows(rule, host, port) && has_method(rule, method) &&
           covers_path(rule.path, path.substr(0, path.find('?')));
  });
}

bool overlap(const NetworkRule& one, const NetworkRule& other) {
  const auto is_usual = [](std::uint16_t port) {
    return port == 0 ||
           std::find(std::begin(kUsualPorts), std::end(kUsualPorts), port) != std::end(kUsualPorts);
  };
  const bool ports = one.port == other.port || (one.port == 0 && is_usual(other.port)) ||
                     (other.port == 0 && is_usual(one.port));
  const bool same = one.host == other.host && one.subdomains == other.subdomains;
  return ports && (same || (one.subdomains && covers_host(one, other.host)) ||
                   (other.subdomains && covers_host(other, one.host)));
}

bool limits_requests(const NetworkRule& rule) {
  return !rule.methods.empty() || !rule.path.empty();
}

bool is_within(const NetworkRule& rule, const std::vector<NetworkRule>& most) {
  return std::any_of(most.begin(), most.end(), [&rule](const NetworkRule& other) {
    const bool port = other.port == rule.port ||
                      (other.port == 0 && std::find(std::begin(kUsualPorts), std::end(kUsualPorts),
                                                    rule.port) != std::end(kUsualPorts));
    const bool host = rule.subdomains ? other.subdomains && (other.host == rule.host ||
                                                             covers_host(other, rule.host))
                                      : covers_host(other, rule.host);
    const bool methods =
        other.methods.empty() ||
        (!rule.methods.empty() &&
         std::all_of(rule.methods.begin(), rule.methods.end(),
                     [&other](const std::string& m) { return has_method(other, m); }));
    return port && host && methods && is_path_within(rule.path, other.path);
  });
}

bool are_within(const std::vector<NetworkRule>& rules, const std::vector<NetworkRule>& most) {
  return std::all_of(rules.begin(), rules.end(),
                     [&most](const NetworkRule& rule) { return is_within(rule, most); });
}

}  // namespace sandbox
