#include "sandbox/network_quota.h"

#include <chrono>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"

namespace sandbox {

using base::Error;
using nlohmann::json;

std::int64_t utc_day_of(std::int64_t unix_ms) {
  return std::chrono::floor<std::chrono::days>(std::chrono::milliseconds(unix_ms)).count();
}

std::int64_t utc_day_now() { return utc_day_of(base::now_ms()); }

json quota_to_json(const NetworkQuota& quota) {
  json value = {{"requests_per_second", quota.requests_per_second},
                {"connections", quota.connections},
                {"principal_id", quota.principal_id},
                {"principal_requests_per_second", quota.principal_requests_per_second},
                {"principal_connections", quota.principal_connections}};
  if (quota.bytes_left) value["bytes_left"] = *quota.bytes_left;
  if (quota.principal_bytes_a_day) {
    value["principal_bytes_a_day"] = *quota.principal_bytes_a_day;
    value["principal_bytes_left"] = quota.principal_bytes_left;
    value["principal_day"] = quota.principal_day;
  }
  return value;
}

base::Result<NetworkQuota> quota_from_json(const json& value) {
  NetworkQuota quota;
  quota.requests_per_second =
      base::integer_or(value, "requests_per_second", quota.requests_per_second);
  quota.connections = base::integer_or(value, "connections", quota.connections);
  quota.principal_id = base::string_or(value, "principal_id");
  quota.principal_requests_per_second =
      base::integer_or(value, "principal_requests_per_second", quota.principal_requests_per_second);
  quota.principal_connections =
      base::integer_or(value, "principal_connections", quota.principal_connections);
  quota.bytes_left = base::find_integer(value, "bytes_left");
  quota.principal_bytes_a_day = base::find_integer(value, "principal_bytes_a_day");
  quota.principal_bytes_left = base::integer_or(value, "principal_bytes_left", 0);
  quota.principal_day = base::integer_or(value, "principal_day", 0);
  for (const std::int64_t rate :
       {quota.requests_per_second, quota.connections, quota.principal_requests_per_second,
        quota.principal_connections}) {
    if (rate > 0) continue;
    return base::error(Error::Kind::kInvalid, "a quota of the network that is none");
  }
  return quota;
}

}  // namespace sandbox
