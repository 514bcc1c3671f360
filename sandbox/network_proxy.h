// The HTTP proxy of a network whose hosts are reached through it alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace sandbox {

struct NetworkProxy {
  std::string host;  // empty: there is none
  std::uint16_t port = 0;
  std::string authorization;        // a value of Proxy-Authorization (RFC 9110 11.7.2); empty: none
  std::vector<std::string> direct;  // names that are reached without it, as no_proxy has them

  friend bool operator==(const NetworkProxy&, const NetworkProxy&) = default;
};

// Returns whether `host`, as canonical_host() gives it, is reached by the proxy. An entry of
// `direct` is for a host and all names below it; "*" is for all hosts.
bool goes_by(const NetworkProxy& proxy, const std::string& host);

nlohmann::json proxy_to_json(const NetworkProxy& proxy);
base::Result<NetworkProxy> proxy_from_json(const nlohmann::json& value);  // kInvalid

}  // namespace sandbox
