// hutch serve: serves many MCP clients over HTTP.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <future>
#include <iostream>
#include <sstream>
#include <stop_token>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "mcp/http/serve.h"
#include "sandbox/wire/json.h"
#include "sessions/processor_weights.h"
#include "tools/authentication.h"
#include "tools/cli/commands.h"
#include "tools/cli/ending_signals.h"
#include "tools/cli/server_log.h"
#include "tools/cli/oauth.h"
#include "tools/rest/agentcop.h"
#include "tools/rest/e2b/e2b.h"
#include "tools/rest/openapi.h"
#include "tools/rest/ports.h"
#include "tools/rest/responses.h"
#include "tools/rest/sandboxes.h"
#include "tools/rest/shared_files.h"
#include "tools/tools.h"

namespace tools::cli {

using base::Error;

namespace {

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

// Who requests act for, and what tells clients where to get a token. The one place that decides it.
base::Status set_door(Application& app, const mcp::Server& server, bool no_auth,
                      mcp::http::ServeOptions& options) {
  const auto& oauth_settings = app.settings().oauth;
  if (no_auth && oauth_settings) {
    return base::error(Error::Kind::kInvalid,
                       "--no-auth and [oauth] in the configuration exclude each other");
  }
  if (no_auth) {
    options.door.authenticate = [principal = mcp::Principal{app.principal_id(), {}}](
                                    std::string_view) { return principal; };
    return base::done();
  }
  const auto on_fault = [](const std::string& what) { spdlog::error("{}", what); };
  std::shared_ptr<mcp::auth::ResourceServer> oauth;
  if (oauth_settings) oauth = TRY(make_resource_server(*oauth_settings, on_fault));
  options.door.authenticate = make_authenticator(app.store(), oauth, on_fault);
  options.authorize = make_authorizer(server, oauth);
  options.may_ask = make_route_authorizer(oauth);
  if (!oauth) return base::done();
  for (const std::string& path : oauth->metadata_paths()) {
    mcp::http::Response answer;
    answer.content_type = "application/json";
    answer.body = sandbox::wire::print_json(oauth->metadata());
    options.routes.push_back({"GET", path, mcp::http::Route::Access::kPublic,
                              [answer](const mcp::http::Request&) { return answer; }});
  }
  return base::done();
}

void bound_calls(Application& app, const ServeSettings& settings,
                 mcp::http::ServeOptions& options) {
  if (settings.calls_at_work > 0) {
    options.calls_at_work_each = static_cast<std::size_t>(settings.calls_at_work);
  }
  options.call_queue_each = static_cast<std::size_t>(settings.calls_waiting);
  options.calls_per_minute_each = static_cast<std::size_t>(settings.calls_per_minute);
  options.unbounded_principal = app.principal_id();
}

// Without the port: links lead to it, so it is a name of this server.
std::string host_of_url(const std::string& url) {
  std::string host = url.substr(url.find("://") + 3);
  host.resize(std::min(host.find('/'), host.size()));
  if (!host.starts_with('[')) host.resize(std::min(host.find(':'), host.size()));
  std::transform(host.begin(), host.end(), host.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return host;
}

// On a loopback address whoever is reached by the server is on its machine.
std::string public_url_of(const ServeSettings& settings, const std::string& name) {
  if (!settings.public_url.empty()) return settings.public_url;
  const auto address = mcp::http::parse_address(name);
  const bool is_here = address && address->is_loopback() && !address->is_unix();
  return is_here && !settings.behind_proxy ? "http://" + name : "";
}

// What an operator who has just started it may have forgotten.
void warn_about_door(Application& app, bool no_auth) {
  if (no_auth) {
    std::cerr << "hutch: warning: --no-auth: whoever reaches this address on this machine may run "
                 "code as you"
              << std::endl;
    return;
  }
  const auto tokens = app.store().list_tokens();
  if (!app.settings().oauth && tokens.ok() && tokens.value().empty()) {
    std::cerr << "hutch: no token exists: hutch token create makes one, and this server takes it "
                 "at once"
              << std::endl;
  }
}

// What a client wrote must not look like a line of ours.
std::string printable(const std::string& text) {
  constexpr std::size_t kLoggedMax = 200;
  std::string result = text.substr(0, kLoggedMax);
  for (char& byte : result) {
    if (byte < 0x21 || byte > 0x7e) byte = '?';
  }
  return result;
}

void log_access(const mcp::http::AccessRecord& record) {
  using std::chrono::milliseconds;
  // Who has the id has the file.
  const bool is_link = record.request.path.starts_with("/shared/");
  spdlog::info("request {} {} {} {} {} {} ms{}", record.request.id, record.request.peer,
               record.request.method, is_link ? "/shared/..." : printable(record.request.path),
               record.status, std::chrono::duration_cast<milliseconds>(record.took).count(),
               record.streams ? " (streams)" : "");
}

// In the database, where each change counts: they outlive the server, and all servers of it show
// the same.
std::string print_metrics(Application& app) {
  std::ostringstream out;
  const auto counts = app.store().counts();
  if (!counts.ok()) return "";
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

}  // namespace

base::Result<int> run_serve(Application& app, bool no_auth) {
  const ServeSettings& settings = app.settings().serve;
  mcp::http::ServeOptions options;
  options.address = TRY(address_of(settings, no_auth));
  mcp::Server server({"hutch", "hutch", HUTCH_VERSION, instructions(app.sessions().config())});
  TRY(set_door(app, server, no_auth, options));
  options.door.allow_origins = settings.allow_origins;
  options.door.allow_hosts = settings.allow_hosts;
  if (!settings.public_url.empty()) {
    options.door.allow_hosts.push_back(host_of_url(settings.public_url));
  }
  // No name leads to a Unix socket, and a proxy that listens for names looks at them.
  options.door.any_host =
      options.address.is_unix() || (settings.behind_proxy && settings.allow_hosts.empty());
  options.drain_patience = std::chrono::seconds(settings.drain_seconds);
  bound_calls(app, settings, options);
  options.on_access = log_access;
  options.more_metrics = [&app] { return print_metrics(app); };
  options.on_session_end = [&app](const std::string& connection_id) {
    app.sessions().connection_ended(connection_id);
  };
  std::stop_source draining;
  options.on_drain = [&draining] { draining.request_stop(); };

  std::promise<std::string> public_url;
  const Services services{
      .sessions = app.sessions(),
      .share = app.share(),
      .session_name = "",
      .draining = draining.get_token(),
      .public_url = [url = public_url.get_future().share()] { return url.get(); }};
  const Offer offer(server, services);
  log_events_of(server);
  for (auto&& routes :
       {rest::shared_routes(app.store(), app.share()), rest::sandbox_routes(services),
        rest::agentcop_routes(services), rest::response_routes(services),
        rest::e2b::routes(services), rest::port_routes(services)}) {
    options.routes.insert(options.routes.end(), routes.begin(), routes.end());
  }
  options.routes.push_back(rest::openapi_route(options.routes, HUTCH_VERSION));

  const base::UniqueFd signals = TRY(ending_signals());
  const sessions::ProcessorWeights weights(app.store());

  const std::string failure =
      mcp::http::serve(server, std::move(options), signals.get(), [&](mcp::http::Service& service) {
        const std::string name = service.name();
        public_url.set_value(public_url_of(settings, name));
        std::cerr << "hutch: serving MCP on " << (name.starts_with("unix:") ? "" : "http://")
                  << name << (name.starts_with("unix:") ? "" : "/mcp") << std::endl;
        warn_about_door(app, no_auth);
      });
  if (!failure.empty()) return base::error(Error::Kind::kUnsupported, failure);
  spdlog::info("stopped");
  return 0;
}

}  // namespace tools::cli
