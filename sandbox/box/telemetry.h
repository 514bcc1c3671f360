// Hosts to which libraries report of themselves, unasked: a run that did so without its user's
// knowledge is not told of them. egress/telemetry.json
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/network_rule.h"

namespace sandbox::box {

class TelemetryHosts {
 public:
  // Where the list is; it is read when the first host is asked about.
  explicit TelemetryHosts(std::string data_directory)
      : data_directory_(std::move(data_directory)) {}

  // False for all where the list cannot be read.
  [[nodiscard]] bool includes(std::string_view host);

 private:
  void read();

  std::string data_directory_;
  std::optional<std::vector<NetworkRule>> rules_;
};

}  // namespace sandbox::box
