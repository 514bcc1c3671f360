#include "sandbox/network_proxy.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace sandbox {

using base::Error;
using nlohmann::json;

namespace {

bool is_for(std::string_view entry, std::string_view host) {
  if (entry == "*") return true;
  if (entry.starts_with('.')) entry.remove_prefix(1);
  if (entry.empty() || !host.ends_with(entry)) return false;
  return host.size() == entry.size() || host[host.size() - entry.size() - 1] == '.';
}

}  // namespace

bool goes_by(const NetworkProxy& proxy, const std::string& host) {
  return !proxy.host.empty() &&
         std::none_of(proxy.direct.begin(), proxy.direct.end(),
                      [&host](const std::string& entry) { return is_for(entry, host); });
}

json proxy_to_json(const NetworkProxy& proxy) {
  if (proxy.host.empty()) return nullptr;
  return {{"host", proxy.host},
          {"port", proxy.port},
          {"authorization", proxy.authorization},
          {"direct", proxy.direct}};
}

base::Result<NetworkProxy> proxy_from_json(const json& value) {
  NetworkProxy proxy;
  if (value.is_null()) return proxy;
  const auto invalid = [] { return base::error(Error::Kind::kInvalid, "no such proxy"); };
  if (!value.is_object()) return invalid();
  proxy.host = base::string_or(value, "host");
  const std::int64_t port = base::integer_or(value, "port", 0);
  if (proxy.host.empty() || port < 1 || port > std::numeric_limits<std::uint16_t>::max()) {
    return invalid();
  }
  proxy.port = static_cast<std::uint16_t>(port);
  proxy.authorization = base::string_or(value, "authorization");
  for (const json& entry : value.value("direct", json::array())) {
    if (!entry.is_string()) return invalid();
    proxy.direct.push_back(entry.get<std::string>());
  }
  return proxy;
}

}  // namespace sandbox
