// Hosts to which libraries report of themselves, unasked: a run that did so without its user's
// knowledge is not told of them. egress/telemetry.json
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sandbox/network_rule.h"

namespace sandbox::box {

class TelemetryHosts {
 public:
  // The list lies in this directory; it is read when the first host is asked about.
  explicit TelemetryHosts(std::string data_directory)
      : data_directory_(std::move(data_directory)) {}

  // Returns false for all where the list cannot be read.
  [[nodiscard]] bool includes(std::string_view host);

  // Hears each event of hutch-egress in its order (wire/egress_protocol.h). Returns whether it is
  // about such hosts alone: bytes that others may have carried are told.
  [[nodiscard]] bool is_about(const nlohmann::json& event);

 private:
  void read();
  [[nodiscard]] bool begins(const nlohmann::json& event);
  [[nodiscard]] bool all_underway() const;

  std::string data_directory_;
  std::optional<std::vector<NetworkRule>> rules_;
  std::map<std::int64_t, bool> underway_;  // by its id: whether it is with such a host
  bool last_begun_ = false;                // whether what began last is with such a host
};

}  // namespace sandbox::box
