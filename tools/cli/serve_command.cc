// hutch serve: serves many MCP clients over HTTP.
#include <sys/statvfs.h>

#include <chrono>
#include <future>
#include <iostream>
#include <sstream>
#include <stop_token>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "base/json.h"
#include "mcp/http/service.h"
#include "sessions/manager_config.h"
#include "sessions/processor_weights.h"
#include "sessions/readiness.h"
#include "sessions/run_table.h"
#include "sessions/sessions.h"
#include "sessions/store.h"
#include "sessions/token_table.h"
#include "tools/api/agentcop.h"
#include "tools/api/e2b/e2b.h"
#include "tools/api/openapi.h"
#include "tools/api/ports.h"
#include "tools/api/responses.h"
#include "tools/api/sandbox_files.h"
#include "tools/api/sandboxes.h"
#include "tools/api/shared_files.h"
#include "tools/authentication.h"
#include "tools/cli/commands.h"
#include "tools/cli/logging.h"
#include "tools/cli/oauth.h"
#include "tools/cli/own_command.h"
#include "tools/cli/reload.h"
#include "tools/cli/serve_signals.h"
#include "tools/cli/server_log.h"
#include "tools/tools.h"

namespace tools::cli {

using base::Error;

namespace {

// With what calls and one box may take besides, it ends within TimeoutStopSec of the units.
constexpr std::chrono::seconds kStoringPatience{120};
constexpr std::uint64_t kNoRoomBytes = std::uint64_t{1} << 20;

base::Result<mcp::http::Address> address_of(const ServeSettings& settings, bool no_auth) {
  const auto address = mcp::http::parse_address(settings.listen);
  if (!address) {
    return base::error(Error::Kind::kInvalid,
                       "cannot listen on \"" + settings.listen +
                           "\": give an address and a port like 127.0.0.1:8931, or unix:/path");
  }
  if (address->is_loopback()) return *address;
  if (no_auth) {
    return base::error(Error::Kind::kInvalid,
                       "--no-auth works only with a loopback address or a Unix socket: on " +
                           settings.listen + " the whole network could run code as you");
  }
  if (!settings.behind_proxy) {
    return base::error(Error::Kind::kInvalid,
                       settings.listen +
                           " is no loopback address, and hutch speaks no TLS: put a proxy in "
                           "front (packaging/haproxy.cfg) and say so with --behind-proxy");
  }
  return *address;
}

// The section on an authorization server can be wrong before that is asked anything.
base::Status check_oauth(const Settings& settings, bool no_auth) {
  if (!settings.oauth) return base::done();
  if (no_auth) {
    return base::error(Error::Kind::kInvalid,
                       "--no-auth and [oauth] in the configuration exclude each other");
  }
  (void)TRY(make_resource_server(*settings.oauth, [](const std::string&) {}));
  return base::done();
}

// Who requests act for, and what tells clients where to get a token. The one place that decides it.
base::Status set_door(Application& app, const mcp::Server& server, bool no_auth,
                      mcp::http::ServeOptions& options) {
  const auto& oauth_settings = app.settings().oauth;
  TRY(check_oauth(app.settings(), no_auth));
  if (no_auth) {
    options.door.authenticate = [principal = mcp::Principal{app.principal_id(), {}}](
                                    std::string_view) { return principal; };
    return base::done();
  }
  const auto on_fault = [](const std::string& what) { spdlog::error("{}", what); };
  std::shared_ptr<mcp::auth::ResourceServer> oauth;
  if (oauth_settings) oauth = TRY(make_resource_server(*oauth_settings, on_fault));
  options.door.authenticate =
      make_authenticator(app.store().principals, app.store().tokens, oauth, on_fault);
  options.authorize = make_authorizer(server, oauth);
  options.may_ask = make_route_authorizer(oauth);
  if (!oauth) return base::done();
  for (const std::string& path : oauth->metadata_paths()) {
    mcp::http::Response answer;
    answer.content_type = "application/json";
    answer.body = base::print_json(oauth->metadata());
    options.routes.push_back({"GET", path, mcp::http::Route::Access::kPublic,
                              [answer](const mcp::http::Request&) { return answer; }});
  }
  return base::done();
}

void bound_calls(Application& app, const ServeSettings& settings,
                 mcp::http::ServeOptions& options) {
  if (settings.calls_at_work > 0) {
    options.calls_at_work_each = static_cast<std::size_t>(settings.calls_at_work);
    options.calls_at_work_beside_others_each = options.calls_at_work_each;
  }
  options.call_queue_each = static_cast<std::size_t>(settings.calls_waiting);
  options.calls_per_minute_each = static_cast<std::size_t>(settings.calls_per_minute);
  options.unbounded_principal = app.principal_id();
}

// On a loopback address whoever is reached by the server is on its machine.
std::string public_url_of(const ServeSettings& settings, const std::string& name) {
  if (!settings.public_url.empty()) return settings.public_url;
  const auto address = mcp::http::parse_address(name);
  const bool is_here = address && address->is_loopback() && !address->is_unix();
  return is_here && !settings.behind_proxy ? "http://" + name : "";
}

// Reminds an operator who has just started the server of what they may have forgotten.
void warn_about_door(Application& app, bool no_auth) {
  if (no_auth) {
    return announce("warning",
                    "--no-auth: whoever reaches this address on this machine may run code as you");
  }
  const auto tokens = app.store().tokens.list();
  if (!app.settings().oauth && tokens.ok() && tokens.value().empty()) {
    announce("info", "no token exists: " + own_command(app.settings(), process_environment()) +
                         " token create makes one, and this server takes it at once");
  }
}

// Reading and deleting go on, and whoever looks is to hear why writing does not.
bool disk_is_full(Application& app, const sessions::Readiness::State& state) {
  struct statvfs disk {};
  if (::statvfs(app.settings().state_directory.c_str(), &disk) != 0) return state.disk_is_full;
  return state.disk_is_full || disk.f_bavail * disk.f_frsize < kNoRoomBytes;
}

mcp::http::Readiness readiness_of(Application& app) {
  const auto state = app.readiness().look();
  if (!state.trouble.empty()) return {false, "not ready: " + state.trouble + "\n"};
  return {true, disk_is_full(app, state) ? "ready\ndegraded: disk\n" : "ready\n"};
}

void print_readiness(Application& app, std::ostream& out) {
  const auto state = app.readiness().look();
  out << "# HELP hutch_ready Whether /readyz says so, while nothing is drained.\n"
         "# TYPE hutch_ready gauge\nhutch_ready "
      << (state.trouble.empty() ? 1 : 0)
      << "\n# HELP hutch_disk_full Whether the disk of the state directory has no room.\n"
         "# TYPE hutch_disk_full gauge\nhutch_disk_full "
      << (disk_is_full(app, state) ? 1 : 0) << '\n';
}

// In the database, where each change counts: they outlive the server, and all servers of it show
// the same.
std::string print_metrics(Application& app) {
  std::ostringstream out;
  print_readiness(app, out);
  const auto counts = app.store().runs.counts();
  if (!counts.ok()) return out.str();
  out << "# HELP hutch_runs Runs on record.\n# TYPE hutch_runs gauge\n";
  for (const auto& [status, count] : counts.value().runs) {
    out << "hutch_runs{status=\"" << status << "\"} " << count.runs << '\n';
  }
  out << "# HELP hutch_run_seconds From the queue to the end, of the runs on record.\n"
         "# TYPE hutch_run_seconds gauge\n";
  for (const auto& [status, count] : counts.value().runs) {
    out << "hutch_run_seconds{status=\"" << status << "\"} "
        << static_cast<double>(count.milliseconds) / 1000 << '\n';
  }
  out << "# HELP hutch_sessions Sandbox sessions on record.\n# TYPE hutch_sessions gauge\n";
  for (const auto& [status, count] : counts.value().sessions) {
    out << "hutch_sessions{status=\"" << status << "\"} " << count << '\n';
  }
  return out.str();
}

// Processes of sessions would be killed next, as a service manager does it once this has ended.
void store_at_end(Application& app) {
  spdlog::info("storing what sessions know, since their processes end with this service");
  const auto report = app.manager().end_boxes_of_service(kStoringPatience);
  if (!report.ok()) return spdlog::error("nothing could be stored: {}", report.error().message);
  for (const std::string& left : report.value().left) {
    spdlog::warn("has only what was stored after an earlier run: {}", left);
  }
  spdlog::info("stored, and ended: {} sessions", report.value().ended);
}

}  // namespace

base::Result<int> check_serve(const Settings& settings, bool no_auth) {
  const auto checked = [&]() -> base::Status {
    (void)TRY(address_of(settings.serve, no_auth));
    TRY(check_rules(settings));
    TRY(check_oauth(settings, no_auth));
    return check_grants(settings);
  }();
  if (!checked.ok()) {
    announce("error", checked.error().message);
    return 2;
  }
  const std::string& file = settings.config_file;
  std::cout << "ok: " << (file.empty() ? "there is no configuration file" : file) << "\n";
  return 0;
}

base::Result<int> run_serve(Application& app, bool no_auth, Reread reread) {
  const ServeSettings& settings = app.settings().serve;
  mcp::http::ServeOptions options;
  options.address = TRY(address_of(settings, no_auth));
  mcp::Server server({"hutch", "hutch", HUTCH_VERSION, instructions(app.services().config)});
  TRY(set_door(app, server, no_auth, options));
  static_cast<mcp::http::DoorNames&>(options.door) = door_names(settings, settings);
  options.drain_patience = std::chrono::seconds(settings.drain_seconds);
  bound_calls(app, settings, options);
  options.on_access = log_access;
  options.more_metrics = [&app] { return print_metrics(app); };
  options.readiness = [&app] { return readiness_of(app); };
  options.on_session_end = [&app](const std::string& connection_id) {
    app.services().sessions.connection_ended(connection_id);
  };
  std::stop_source draining;
  Reload reload(app.settings(), app.services().quotas, std::move(reread));
  options.on_drain = [&draining, &reload] {
    reload.set_service(nullptr);
    draining.request_stop();
  };

  std::promise<std::string> public_url;
  Services services{app.services(), app.share(), ""};
  services.draining = draining.get_token();
  services.public_url = [url = public_url.get_future().share()] { return url.get(); };
  services.public_ports = app.settings().serve.public_ports;
  options.bounds.are_connections_shared = settings.behind_proxy;
  if (options.address.is_unix() && !settings.behind_proxy) {  // its clients are here
    services.command = own_command(app.settings(), process_environment());
  }
  const Offer offer(server, services);
  log_events_of(server);
  for (auto&& routes :
       {api::shared_routes(app.store().shares, app.share()), api::sandbox_routes(services),
        api::agentcop_routes(services), api::response_routes(services), api::e2b::routes(services),
        api::port_routes(services)}) {
    for (mcp::http::Route route : routes) {
      if (route.takes_parts) route.too_large = api::kTooLargeFile;  // files are sent to it
      options.routes.push_back(std::move(route));
    }
  }
  options.routes.push_back(api::openapi_route(options.routes, HUTCH_VERSION));
  name_requests(options.routes);

  const auto signals = TRY(ServeSignals::watch([&reload] { reload.read_anew(); }));
  const sessions::ProcessorWeights weights(app.settings().state_directory, app.store().sessions,
                                           app.store().runs);

  const std::string failure = mcp::http::serve(
      server, std::move(options), signals->ending_fd(), [&](mcp::http::Service& service) {
        const std::string name = service.name();
        public_url.set_value(public_url_of(settings, name));
        reload.set_service(&service);
        announce("info", "serving MCP on " +
                             (name.starts_with("unix:") ? name : "http://" + name + "/mcp"));
        warn_about_door(app, no_auth);
      });
  if (!failure.empty()) return base::error(Error::Kind::kUnsupported, failure);
  if (settings.store_at_end) store_at_end(app);
  spdlog::info("stopped");
  return 0;
}

}  // namespace tools::cli
