// NetworkTally counts what hutch-egress tells a box for the runs that are on, since it knows of
// none. Bytes that are carried between two runs are the next one's.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sandbox/box/telemetry_hosts.h"
#include "sandbox/run.h"

namespace sandbox::box {

class NetworkTally {
 public:
  // `data_directory` has the list of hosts that no run is told of.
  explicit NetworkTally(const std::string& data_directory) : telemetry_hosts_(data_directory) {}

  // Adds an event (wire/egress_protocol.h) to each of the runs that are on.
  void add(const nlohmann::json& event, const std::vector<Run*>& on);
  // Returns the bytes that were carried while no run was on, once.
  [[nodiscard]] std::int64_t take_between_runs() { return std::exchange(between_runs_, 0); }

 private:
  TelemetryHosts telemetry_hosts_;
  std::int64_t between_runs_ = 0;  // as they are carried
};

}  // namespace sandbox::box
