#include "tools/api/agentcop_config.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sandbox/box_spec.h"
#include "sessions/quotas.h"
#include "sessions/session_options.h"
#include "tools/arguments.h"
#include "tools/session_wishes.h"

namespace tools::api {

using base::Error;
using nlohmann::json;
using Type = Argument::Type;

namespace {

constexpr std::int64_t kLifetimeSecondsMax = 3600;
constexpr std::int64_t kLifetimeSecondsDefault = 1800;
constexpr double kCpusMax = 1024;
constexpr const char* kUsualImage = "agentcop/agent-sandbox:latest";

Error invalid(const std::string& what) {
  return base::error(Error::Kind::kInvalid, "config." + what);
}

// An object's members, checked; what is wrong is told with the object's name.
base::Result<Arguments> members_of(const json& config, const char* name,
                                   const std::vector<Argument>& table) {
  const json part = config.value(name, json());
  if (!part.is_null() && !part.is_object())
    return invalid(std::string(name) + " must be an object");
  auto checked = check_arguments(table, part);
  if (checked.ok()) return checked;
  return invalid(std::string(name) + ": " + checked.error().message);
}

// "0.5": parts of a core count as one, since a session has whole ones.
std::optional<std::int64_t> cpus_in(const std::string& text) {
  char* end = nullptr;
  const double cores = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(cores > 0) || cores > kCpusMax) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(cores));
}

// "512m", "1g", "65536k", or bytes; in MiB.
std::optional<std::int64_t> megabytes_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.size() > 1 && (unit.ends_with('b') || unit.ends_with('B'))) unit.remove_suffix(1);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (number > kMost) return std::nullopt;
  const auto rounded_up = [](std::int64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; };
  if (unit.empty() || unit == "b" || unit == "B") return rounded_up(number);
  if (unit == "k" || unit == "K") return rounded_up(number << 10);
  if (unit == "m" || unit == "M") return number;
  if (unit == "g" || unit == "G") return number << 10;
  return std::nullopt;
}

base::Status take_resources(const json& config, const sessions::Quotas& quotas,
                            sessions::SessionOptions& options) {
  const Arguments resources = TRY(members_of(
      config, "resources",
      {{.name = "cpu", .most = 20},
       {.name = "memory", .most = 20},
       {.name = "timeout", .type = Type::kInteger, .least = 1, .most = kLifetimeSecondsMax}}));
  options.lifetime_seconds = resources.integer("timeout", kLifetimeSecondsDefault);
  json limits = json::object();
  if (resources.has("cpu")) {
    const auto cpus = cpus_in(resources.text("cpu"));
    if (!cpus) return invalid("resources.cpu must be a number of cores such as \"0.5\" or \"2\"");
    limits["cpus"] = *cpus;
  }
  if (resources.has("memory")) {
    const auto megabytes = megabytes_in(resources.text("memory"));
    if (!megabytes) return invalid("resources.memory must be a size such as \"512m\" or \"2g\"");
    limits["memory_mb"] = *megabytes;
  }
  options.limits =
      TRY(sandbox::limits_from_json(limits, quotas.default_limits, quotas.most_limits));
  return base::done();
}

}  // namespace

base::Result<sessions::SessionOptions> options_of_config(const json& config,
                                                         const sessions::Quotas& quotas) {
  sessions::SessionOptions options;
  const json members = config.is_null() ? json::object() : config;
  const json image = members.value("image", json());
  if (!image.is_null() && !image.is_string()) return invalid("image must be a string");
  // The approved images are the environments that this machine has.
  if (image.is_string() && image != kUsualImage) options.template_name = image.get<std::string>();
  for (const char* name : {"filesystem", "network"}) {
    json part = members.value(name, json());
    if (part.is_null()) continue;
    if (!part.is_object()) return invalid(std::string(name) + " must be an object");
    // Outbound is blocked but for what is allowed: that is what a list says of a session.
    if (!part.value("allow", json()).empty() && part.value("block_outbound", json()) == true) {
      part.erase("block_outbound");
    }
    if (std::string_view(name) == "network") {
      options.network = TRY(network_wish(part));
    } else {
      options.filesystem = TRY(filesystem_wish(part));
    }
  }
  TRY(take_resources(members, quotas, options));
  return options;
}

}  // namespace tools::api
