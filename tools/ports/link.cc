#include "tools/ports/link.h"

#include <utility>

#include "sessions/host_id.h"

namespace tools::ports {
namespace {

bool is_address(const std::string& host) {
  return host.starts_with('[') || host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

bool is_port_of_ours(std::uint16_t port) { return port == 49983 || port == 49999; }

std::string domain_of(const std::string& public_url) {
  const std::size_t begin = public_url.find("://");
  if (begin == std::string::npos) return "";
  std::string authority = public_url.substr(begin + 3);
  authority.resize(std::min(authority.find('/'), authority.size()));
  const std::size_t colon = authority.find(':', authority.find(']') + 1);
  std::string host = authority.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : authority.substr(colon);
  // Names below it lead to this machine, too: RFC 6761 section 6.3.
  if (host == "127.0.0.1" || host == "[::1]") host = "localhost";
  return host.empty() || is_address(host) ? "" : host + rest;
}

std::optional<std::string> host_url(const std::string& public_url, const std::string& session_id,
                                    std::uint16_t port) {
  const std::string domain = domain_of(public_url);
  if (domain.empty()) return std::nullopt;
  return public_url.substr(0, public_url.find("://")) + "://" + std::to_string(port) + "-" +
         sessions::host_id(session_id) + "." + domain + "/";
}

std::string without_access(std::string_view target) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  std::string_view query = target.substr(std::min(mark + 1, target.size()));
  // Two slashes at the start would be another host.
  const std::size_t begin = std::min(target.find_first_not_of('/'), mark);
  std::string kept = "/" + std::string(target.substr(begin, mark - begin));
  char separator = '?';
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    if (one.substr(0, one.find('=')) == kAccessParameter) continue;
    kept += separator + std::string(one);
    separator = '&';
  }
  return kept;
}

}  // namespace tools::ports
