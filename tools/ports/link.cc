#include "tools/ports/link.h"

#include <utility>

#include "tools/sandbox_uri.h"

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
         session_id + "." + domain + "/";
}

std::string without_access(const std::string& path, std::map<std::string, std::string> query) {
  query.erase(kAccessParameter);
  // Two slashes at the start would be another host.
  std::string url =
      "/" + percent_encode(path.substr(std::min(path.find_first_not_of('/'), path.size())));
  char separator = '?';
  for (const auto& [name, value] : query) {
    url += separator + percent_encode(name) + "=" + percent_encode(value);
    separator = '&';
  }
  return url;
}

}  // namespace tools::ports
