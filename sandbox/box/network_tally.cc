#include "sandbox/box/network_tally.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/shortened_text.h"
#include "sandbox/network_rule.h"

namespace sandbox::box {

using nlohmann::json;

namespace {

constexpr std::size_t kReasonBytesMax = 300;

std::int64_t bytes_of(const json& event) {
  return std::max<std::int64_t>(base::integer_or(event, "used", 0), 0);
}

void add_use(const json& event, const std::string& host, NetworkUse& use) {
  const std::string kind = base::string_or(event, "event");
  use.bytes += bytes_of(event);
  if (kind == "opened") {
    const bool known = std::find(use.allowed.begin(), use.allowed.end(), host) != use.allowed.end();
    if (!known && use.allowed.size() < NetworkUse::kListedMax) use.allowed.push_back(host);
  } else if (kind == "refused" && !event.contains("more")) {
    const bool known = std::any_of(use.refused.begin(), use.refused.end(),
                                   [&host](const auto& entry) { return entry.host == host; });
    if (known || use.refused.size() == NetworkUse::kListedMax) return;
    use.refused.push_back({host, base::shortened(base::string_or(event, "reason"), kReasonBytesMax),
                           base::shortened(base::string_or(event, "missing_rule"), kReasonBytesMax),
                           base::boolean_or(event, "host_is_allowed", false)});
  }
}

}  // namespace

void NetworkTally::add(const json& event, const std::vector<Run*>& on) {
  if (telemetry_hosts_.is_about(event)) return;
  // Programs ask for these by the way, and no answer of a session depends on it.
  if (is_name_of_address(base::string_or(event, "host"))) return;
  const std::int64_t port = base::integer_or(event, "port", 0);
  const std::string host =
      base::string_or(event, "host") + (port > 0 ? ":" + std::to_string(port) : "");
  for (Run* run : on) add_use(event, host, run->network);
  if (on.empty()) between_runs_ += bytes_of(event);
}

}  // namespace sandbox::box
