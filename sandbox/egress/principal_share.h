// The sessions of one principal have one PrincipalShare together, however many they are.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "sandbox/egress/asio.h"
#include "sandbox/egress/daily_meter.h"
#include "sandbox/egress/pace.h"
#include "sandbox/egress/places.h"
#include "sandbox/network_quota.h"

namespace sandbox::egress {

struct PrincipalShare {
  PrincipalShare(asio::io_context& context, const NetworkQuota& quota,
                 std::shared_ptr<DailyMeter> today)
      : connections(static_cast<std::size_t>(quota.principal_connections)),
        requests(context, quota.principal_requests_per_second,
                 2 * quota.principal_requests_per_second),
        bytes(std::move(today)) {}

  static constexpr std::size_t kHeldBodiesMost = 16;  // each up to 8 MiB

  Places connections;
  Places held_bodies{kHeldBodiesMost};
  std::size_t lookups = 0;  // that are on
  Pace requests;
  std::shared_ptr<DailyMeter> bytes;
};

}  // namespace sandbox::egress
