#include "tools/api/e2b/sandbox_network.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sandbox/network_rule.h"
#include "tools/session_wishes.h"

namespace tools::api::e2b {

using base::Error;
using nlohmann::json;

namespace {

bool denies_all(const json& denied) {
  return denied.is_array() && std::find(denied.begin(), denied.end(), "0.0.0.0/0") != denied.end();
}

sessions::NetworkWish everything_of(const sessions::GrantedNetwork& granted) {
  sessions::NetworkWish wish;
  for (const auto& rule : granted.all()) {
    if (!wish.allow) wish.allow.emplace();
    wish.allow->push_back(sandbox::text_of(rule));
  }
  wish.credentials = granted.credentials;
  return wish;
}

base::Status check_network(const json& network) {
  for (const auto& [name, value] : network.items()) {
    const bool says_nothing = value.is_null() || value == json::array() || value == json::object();
    const bool is_served =
        name == "allowOut" || name == "denyOut" ||
        // Older SDKs always say it. Ports keep their token, which its answer has.
        (name == "allowPublicTraffic" && value.is_boolean()) || name == "maskRequestHost";
    if (says_nothing || is_served) continue;
    return base::error(Error::Kind::kUnsupported,
                       "network." + name +
                           ": of network there are allowOut with names of hosts, denyOut with "
                           "addresses, allowPublicTraffic and maskRequestHost");
  }
  return base::done();
}

}  // namespace

base::Result<sessions::NetworkWish> network_in(const json& given, bool is_open,
                                               const sessions::GrantedNetwork& granted) {
  const json network = given.is_object() ? given : json::object();
  TRY(check_network(network));
  const json allowed = network.value("allowOut", json::array());
  if (!allowed.empty()) return network_wish({{"allow", allowed}});
  const json denied = network.value("denyOut", json());
  sessions::NetworkWish wish;
  if (!is_open || denies_all(denied)) {
    wish.blocks_outbound = true;
    return wish;
  }
  wish = everything_of(granted);
  if (denied.empty()) return wish;
  wish.denied = TRY(network_wish({{"deny_addresses", denied}})).denied;
  if (!wish.allow) wish.allow.emplace();
  return wish;
}

base::Result<std::optional<std::string>> host_in(const json& network) {
  const json mask = network.is_object() ? network.value("maskRequestHost", json()) : json();
  if (mask.is_null()) return std::optional<std::string>();
  const std::string host = mask.is_string() ? mask.get<std::string>() : "";
  const bool is_host = std::all_of(host.begin(), host.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') ||
           std::string_view("-._:[]${}").find(letter) != std::string_view::npos;
  });
  if (!host.empty() && host.size() <= 255 && is_host) return std::optional(host);
  return base::error(Error::Kind::kInvalid,
                     "network.maskRequestHost must be a host, such as localhost:${PORT}");
}

}  // namespace tools::api::e2b
