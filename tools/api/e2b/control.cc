// E2B's control API: sandboxes are sessions that end with their timeout.
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "mcp/http/library.h"
#include "sessions/boxes.h"
#include "sessions/manager_config.h"
#include "sessions/network_changes.h"
#include "sessions/session.h"
#include "sessions/session_states.h"
#include "sessions/session_time.h"
#include "sessions/session_tokens.h"
#include "sessions/sessions.h"
#include "tools/api/api.h"
#include "tools/api/create_sandbox.h"
#include "tools/api/e2b/e2b.h"
#include "tools/api/e2b/sandbox_network.h"
#include "tools/api/json_answer.h"
#include "tools/api/sandbox_files.h"
#include "tools/api/sandbox_view.h"

namespace tools::api::e2b {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;
using Type = Argument::Type;
using Work = Route::Work;

namespace {

constexpr std::chrono::milliseconds kMeasuredFor{100};
// Never shortens what it has.
base::Result<Response> connect_sandbox(const Services& services, const Request& request,
                                       const Arguments& body) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  const std::int64_t seconds = body.integer("timeout", 0);
  const auto over = sessions::ends_at_ms(session);
  // First, or one whose time is over meanwhile would be paused again.
  if (over && seconds > 0 && *over < base::now_ms() + seconds * 1000) {
    TRY(services.sessions.set_lifetime(session, seconds));
  }
  (void)TRY(services.sessions.resume(request.principal.id, session.id));
  const auto now = TRY(services.sessions.find(request.principal.id, session.id));
  return json_answer(200, TRY(sandbox_view(services, now)));
}

base::Result<Response> set_timeout(const Services& services, const Request& request,
                                   const Arguments& body) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  if (sessions::ends_at_ms(session)) {
    TRY(services.sessions.set_lifetime(session, body.integer("timeout", 0)));
  }
  return empty_answer();
}

// One look, and how busy it is while that lasts.
base::Result<Response> metrics(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  json measured = json::array();
  // No earlier measurement is kept: a span of time without now has none. `start` and `end` are in
  // seconds.
  const std::int64_t now_s = base::now_ms() / 1000;
  if (TRY(number_in_query(request, "start")).value_or(now_s) > now_s ||
      TRY(number_in_query(request, "end")).value_or(now_s) < now_s) {
    return json_answer(200, measured);
  }
  const auto before = services.boxes.live_status(session);
  if (!before.ok()) return json_answer(200, measured);  // nothing of it lives
  const auto begun = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kMeasuredFor);
  const auto usage = TRY(services.boxes.live_status(session)).usage;
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
  const auto busy =
      static_cast<double>(usage.processor_time_us - before.value().usage.processor_time_us);
  const std::int64_t now = base::now_ms();
  constexpr std::int64_t kMiB = 1 << 20;
  measured.push_back({{"timestamp", base::to_rfc3339(now)},
                      {"timestampUnix", now / 1000},
                      {"cpuCount", session.limits.cpus},
                      {"cpuUsedPct", std::round(busy / took.count() * 10'000) / 100},
                      {"memUsed", usage.memory_bytes},
                      {"memCache", usage.cache_bytes},
                      {"memTotal", session.limits.memory_mb * kMiB},
                      {"diskUsed", usage.disk_bytes},
                      {"diskTotal", session.limits.disk_mb * kMiB}});
  return json_answer(200, measured);
}

// Refuses a snapshot: whoever wants one is told that none can be made, and none is listed.
base::Result<Response> no_snapshots(const Services& services, const Request& request) {
  (void)TRY(sandbox_of(services, request));
  return base::error(Error::Kind::kUnsupported,
                     "sandboxes are not copied here: files of a session stay, and pause keeps its "
                     "processes");
}

base::Result<Response> no_snapshots_there(const Services& /*services*/,
                                          const Request& /*request*/) {
  return json_answer(200, json::array());
}

// All of it anew, within what the operator allows.
base::Result<Response> change_network(const Services& services, const Request& request,
                                      const Arguments& body) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  json network = json::object();
  for (const char* name : {"allowOut", "denyOut", "dnsServers"}) {
    if (body.has(name)) network[name] = body.list(name);
  }
  for (const char* name : {"rules", "egressProxy"}) {
    if (!body.object(name).empty()) network[name] = body.object(name);
  }
  const auto wanted = TRY(
      network_in(network, body.boolean("allow_internet_access", true), services.config.network));
  TRY(services.network_changes.change(session, wanted));
  return empty_answer();
}

}  // namespace

std::vector<Route> control_routes(const Services& services) {
  const With with(services);
  const auto timeout_body = [](bool required) {
    return std::vector<Argument>{{.name = "timeout",
                                  .type = Type::kInteger,
                                  .required = required,
                                  .least = 1,
                                  .most = kLifetimeSecondsMax}};
  };
  std::vector<Operation> operations{
      {"POST", "/v2/sandboxes", with(create_sandbox), creation_body(), true, Work::kCall},
      {"GET", "/v2/sandboxes", with(list_sandboxes)},
      {"POST", "/sandboxes/{id}/timeout", with(set_timeout), timeout_body(true), true},
      {"GET", "/snapshots", with(no_snapshots_there)},
      {"POST", "/sandboxes/{id}/snapshots", with(no_snapshots), {}, true},
      {"POST", "/sandboxes/{id}/fork", with(no_snapshots), {}, true},
      {"PUT",
       "/sandboxes/{id}/network",
       with(change_network),
       {{.name = "allowOut", .type = Type::kStringList, .most = 1000},
        {.name = "denyOut", .type = Type::kStringList, .most = 1000},
        {.name = "dnsServers", .type = Type::kStringList, .most = 100},
        {.name = "allow_internet_access", .type = Type::kBoolean},
        {.name = "rules", .type = Type::kObject},
        {.name = "egressProxy", .type = Type::kObject}},
       true,
       Work::kCall},
      {"GET", "/sandboxes/{id}/metrics", with(metrics), {}, false, Work::kCall},
      {"POST", "/sandboxes/{id}/connect", with(connect_sandbox), timeout_body(false), true,
       Work::kCall},
      {"POST", "/v2/sandboxes/{id}/connect", with(connect_sandbox), timeout_body(false), true,
       Work::kCall}};
  return routes_of(std::move(operations), refused_with_code);
}

}  // namespace tools::api::e2b
