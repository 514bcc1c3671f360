// A NetworkQuota says how much of the network a session may use, and all sessions of its principal
// together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace sandbox {

struct NetworkQuota {
  std::int64_t requests_per_second = 250;  // as connections are, too; twice as many at once
  std::int64_t connections = 256;
  std::optional<std::int64_t> bytes_left;  // both ways; nothing: as many as it likes
  std::string principal_id;
  std::int64_t principal_requests_per_second = 1000;
  std::int64_t principal_connections = 1024;
  std::optional<std::int64_t> principal_bytes_a_day;  // both ways, by UTC; nothing: no limit
  // These two say how many of them were left when the box began, and on which day that was.
  std::int64_t principal_bytes_left = 0;
  std::int64_t principal_day = 0;

  friend bool operator==(const NetworkQuota&, const NetworkQuota&) = default;
};

// Days since the epoch.
std::int64_t utc_day_of(std::int64_t unix_ms);
std::int64_t utc_day_now();

nlohmann::json quota_to_json(const NetworkQuota& quota);
// Fails with kInvalid for a number that none can be.
base::Result<NetworkQuota> quota_from_json(const nlohmann::json& value);

}  // namespace sandbox
