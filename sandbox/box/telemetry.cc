#include "sandbox/box/telemetry.h"

#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"

namespace sandbox::box {

using nlohmann::json;

namespace {
constexpr std::size_t kListBytesMax = 256 * 1024;
}

void TelemetryHosts::read() {
  rules_.emplace();
  const auto file =
      base::open_file(AT_FDCWD, data_directory_ + "/telemetry.json", O_RDONLY | O_NONBLOCK);
  if (!file.ok()) return;
  const auto text = base::read_all(file.value().get(), kListBytesMax);
  if (!text.ok()) return;
  const auto value = base::parse_json(text.value());
  if (!value.ok() || !value.value().is_object()) return;
  for (const json& host : value.value().value("hosts", json::array())) {
    if (!host.is_string()) continue;
    auto rule = parse_network_rule(host.get<std::string>());
    if (rule.ok()) rules_->push_back(std::move(rule).value());
  }
}

bool TelemetryHosts::includes(std::string_view host) {
  if (!rules_) read();
  return allows_host(*rules_, host);
}

}  // namespace sandbox::box
