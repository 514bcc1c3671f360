#include "mcp/http/route.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "mcp/http/door.h"

namespace mcp::http {
namespace {

// An empty method takes them all.
bool takes(const Route& route, const std::string& method) {
  return route.method.empty() || route.method == method ||
         (route.method == "GET" && method == "HEAD");
}

std::string_view take_segment(std::string_view& path) {
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(segment.size() + 1, path.size()));
  return segment;
}

// Returns what stands in place of the braces, by name; nothing when the path is another.
std::optional<std::map<std::string, std::string>> fit(std::string_view pattern,
                                                      std::string_view path) {
  std::map<std::string, std::string> parameters;
  if (pattern.size() > 1 && pattern.ends_with('/')) {
    if (path.starts_with(pattern)) return parameters;
    return std::nullopt;
  }
  if (pattern.find('{') == pattern.npos) {
    if (path == pattern) return parameters;
    return std::nullopt;
  }
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_segment(pattern);
    const bool ends = path.ends_with('/') && path.find('/') == path.size() - 1;
    const std::string_view given = take_segment(path);
    if (ends) return std::nullopt;  // an empty segment follows
    if (!wanted.starts_with('{')) {
      if (wanted != given) return std::nullopt;
    } else if (given.empty()) {
      return std::nullopt;
    } else {
      parameters.emplace(wanted.substr(1, wanted.size() - 2), given);
    }
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return parameters;
}

}  // namespace

Routes::Found Routes::find(const Request& head) const {
  const std::string label = host_label(head.header("Host"));
  const auto takes_label = [&label](const Route& route) {
    return route.takes_label && route.takes_label(label);
  };
  // A name like 10-0-0-1.example.org may be an address of this server, and no session's.
  const bool is_ours = label.empty() || std::none_of(routes_.begin(), routes_.end(), takes_label);
  Found found;
  for (const Route& route : routes_) {
    const bool is_here =
        (is_ours && route.any_host) || (label.empty() ? !route.path.empty() : takes_label(route));
    if (!is_here) continue;
    if (route.path.empty()) return {&route, true, "", {}};
    auto parameters = fit(route.path, head.path);
    if (!parameters) continue;
    if (takes(route, head.method)) return {&route, true, "", std::move(*parameters)};
    found.route = &route;
    base::append_part(found.allow, route.method);
    if (route.method == "GET") found.allow += ", HEAD";
  }
  return found;
}

}  // namespace mcp::http
