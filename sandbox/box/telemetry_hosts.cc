#include "sandbox/box/telemetry_hosts.h"

#include <fcntl.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"

namespace sandbox::box {

using nlohmann::json;

namespace {
constexpr std::size_t kListBytesMax = 256 * 1024;
// More cannot be under way: a door that tells of more is not believed.
constexpr std::size_t kUnderwayMax = 100'000;
}  // namespace

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

bool TelemetryHosts::begins(const json& event) {
  last_begun_ = includes(base::string_or(event, "host"));
  const auto id = base::find_integer(event, "id");
  if (id && underway_.size() < kUnderwayMax) underway_[*id] = last_begun_;
  return last_begun_;
}

bool TelemetryHosts::all_underway() const {
  return std::all_of(underway_.begin(), underway_.end(),
                     [](const auto& one) { return one.second; });
}

bool TelemetryHosts::is_about(const json& event) {
  const std::string kind = base::string_or(event, "event");
  if (kind == "refused") return includes(base::string_or(event, "host"));
  if (kind == "opened" || kind == "begun") return begins(event);
  // With its bytes come those of all that is under way.
  const bool is_all = underway_.empty() ? last_begun_ : all_underway();
  if (kind == "closed" || kind == "request") underway_.erase(base::integer_or(event, "id", 0));
  if (kind == "lost" || kind == "ended") underway_.clear();
  return is_all;
}

}  // namespace sandbox::box
