// E2B's control API: sandboxes are sessions that end with their timeout.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "mcp/http/library.h"
#include "sandbox/environment.h"
#include "sandbox/network_rule.h"
#include "sessions/boxes.h"
#include "sessions/grants.h"
#include "sessions/host_id.h"
#include "sessions/manager_config.h"
#include "sessions/network_changes.h"
#include "sessions/network_choice.h"
#include "sessions/session.h"
#include "sessions/session_options.h"
#include "sessions/session_states.h"
#include "sessions/session_time.h"
#include "sessions/session_tokens.h"
#include "sessions/sessions.h"
#include "tools/ports/link.h"
#include "tools/rest/api.h"
#include "tools/rest/e2b/e2b.h"
#include "tools/rest/json_answer.h"
#include "tools/rest/sandbox_files.h"
#include "tools/session_wishes.h"

namespace tools::rest::e2b {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;
using Type = Argument::Type;
using Work = Route::Work;

namespace control {
namespace {

constexpr std::chrono::milliseconds kMeasuredFor{100};
constexpr std::int64_t kLifetimeSecondsMax = 86400;
constexpr std::int64_t kLifetimeSecondsDefault = 300;
// Names of its own templates, for the one that sessions have unasked.
constexpr const char* kTheirTemplates[] = {"base", "code-interpreter-v1", "code-interpreter"};

std::string template_of(const std::string& wanted) {
  for (const char* theirs : kTheirTemplates) {
    if (wanted == theirs) return "";
  }
  return wanted;
}

base::Result<json> shown(const Services& services, const sessions::Session& session) {
  const std::string token = TRY(services.tokens.token_of(session.id));
  const std::string domain =
      services.public_url ? tools::ports::domain_of(services.public_url()) : "";
  json value = {
      {"sandboxID", sessions::host_id(session.id)},
      {"templateID", session.template_name},
      {"clientID", "hutch"},
      {"envdVersion", kEnvdVersion},
      {"envdAccessToken", token},
      {"trafficAccessToken", token},
      {"domain", domain.empty() ? json() : json(domain)},
      {"state", session.status == sessions::SessionStatus::kPaused ? "paused" : "running"},
      {"startedAt", base::to_rfc3339(session.created_at)},
      {"metadata", session.metadata},
      {"cpuCount", session.limits.cpus},
      {"memoryMB", session.limits.memory_mb},
      {"diskSizeMB", session.limits.disk_mb}};
  const auto ends_at_ms = sessions::ends_at_ms(session);
  value["endAt"] = ends_at_ms ? base::to_rfc3339(*ends_at_ms) : end_of_endless(session);
  return value;
}

// Fails with kUnsupported for wishes that are not served: no sandbox is made that would be less
// than its client believes it has.
base::Status check_wishes(const Arguments& body) {
  for (const char* name : {"iam", "mcp"}) {
    if (body.object(name).empty()) continue;
    return base::error(Error::Kind::kUnsupported, std::string(name) + " is not served here yet");
  }
  if (!body.list("volumeMounts").empty()) {
    return base::error(Error::Kind::kUnsupported, "volumeMounts are not served here yet");
  }
  return base::done();
}

bool denies_all(const json& denied) {
  return denied.is_array() && std::find(denied.begin(), denied.end(), "0.0.0.0/0") != denied.end();
}

sessions::NetworkWish everything_of(const sessions::GrantedNetwork& granted) {
  sessions::NetworkWish wish;
  for (const auto& rule : granted.all()) {
    if (!wish.allow) wish.allow.emplace();
    wish.allow->push_back(sandbox::text_of(rule));
  }
  wish.credentials = granted.credentials;
  return wish;
}

base::Status check_network(const json& network) {
  for (const auto& [name, value] : network.items()) {
    const bool says_nothing = value.is_null() || value == json::array() || value == json::object();
    const bool is_served =
        name == "allowOut" || name == "denyOut" ||
        // Older SDKs always say it. Ports keep their token, which its answer has.
        (name == "allowPublicTraffic" && value.is_boolean()) || name == "maskRequestHost";
    if (says_nothing || is_served) continue;
    return base::error(Error::Kind::kUnsupported,
                       "network." + name +
                           ": of network there are allowOut with names of hosts, denyOut with "
                           "addresses, allowPublicTraffic and maskRequestHost");
  }
  return base::done();
}

// Returns the wish for all that the operator allows, or for what of that is named.
base::Result<sessions::NetworkWish> network_in(const json& given, bool is_open,
                                               const sessions::GrantedNetwork& granted) {
  const json network = given.is_object() ? given : json::object();
  TRY(check_network(network));
  const json allowed = network.value("allowOut", json::array());
  if (!allowed.empty()) return network_wish({{"allow", allowed}});
  const json denied = network.value("denyOut", json());
  sessions::NetworkWish wish;
  if (!is_open || denies_all(denied)) {
    wish.blocks_outbound = true;
    return wish;
  }
  wish = everything_of(granted);
  if (denied.empty()) return wish;
  wish.denied = TRY(network_wish({{"deny_addresses", denied}})).denied;
  if (!wish.allow) wish.allow.emplace();
  return wish;
}

// Returns what a sandbox's servers are to find as Host, if the client says. Fails with kInvalid for
// more than letters, digits and what stands between them, so that no header ends in it.
base::Result<std::optional<std::string>> host_in(const json& network) {
  const json mask = network.is_object() ? network.value("maskRequestHost", json()) : json();
  if (mask.is_null()) return std::optional<std::string>();
  const std::string host = mask.is_string() ? mask.get<std::string>() : "";
  const bool is_host = std::all_of(host.begin(), host.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') ||
           std::string_view("-._:[]${}").find(letter) != std::string_view::npos;
  });
  if (!host.empty() && host.size() <= 255 && is_host) return std::optional(host);
  return base::error(Error::Kind::kInvalid,
                     "network.maskRequestHost must be a host, such as localhost:${PORT}");
}

base::Result<Response> create(const Services& services, const Request& request,
                              const Arguments& body) {
  sessions::SessionOptions options;
  options.template_name = template_of(body.text("templateID"));
  options.lifetime_seconds = body.integer("timeout", kLifetimeSecondsDefault);
  options.pauses_at_end = body.boolean("autoPause", false);
  options.env = body.map("envVars");
  options.metadata = body.map("metadata");
  options.working_directory = "/home/user";
  const json network = body.object("network");
  options.public_ports =
      !network.is_object() || network.value("allowPublicTraffic", json()) != json(false);
  options.port_host = TRY(host_in(network));
  const json resumes = body.object("autoResume");
  options.wakes_by_port = resumes.is_object() && resumes.value("enabled", json()) == json(true);
  TRY(check_wishes(body));
  options.network =
      TRY(network_in(body.object("network"), body.boolean("allow_internet_access", true),
                     services.config.network));
  TRY(check_environment(options.env));
  const auto made = TRY(services.sessions.create(request.principal.id, options));
  return json_answer(201, TRY(shown(services, made.session)));
}

// Never shortens what it has.
base::Result<Response> connect(const Services& services, const Request& request,
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
  return json_answer(200, TRY(shown(services, now)));
}

base::Result<Response> set_timeout(const Services& services, const Request& request,
                                   const Arguments& body) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  if (sessions::ends_at_ms(session)) {
    TRY(services.sessions.set_lifetime(session, body.integer("timeout", 0)));
  }
  return empty_answer();
}

base::Result<std::optional<std::int64_t>> number_in(const Request& request, const char* name) {
  const auto asked = request.query.find(name);
  if (asked == request.query.end()) return std::optional<std::int64_t>();
  const auto number = base::number_of<std::int64_t>(asked->second);
  if (!number) {
    return base::error(Error::Kind::kInvalid, std::string(name) + " must be a whole number");
  }
  return number;
}

// A query in a query, whose names and values the SDKs encode once more.
json metadata_in(const Request& request) {
  json wanted = json::object();
  const auto asked = request.query.find("metadata");
  if (asked == request.query.end()) return wanted;
  for (const auto& [name, value] : mcp::http::parse_query(asked->second)) {
    wanted.update(json(mcp::http::parse_query(name + "=" + value)));
  }
  return wanted;
}

bool has_all(const json& metadata, const json& wanted) {
  return std::ranges::all_of(wanted.items(), [&metadata](const auto& entry) {
    return metadata.value(entry.key(), json()) == entry.value();
  });
}

// Its place in a list by the time when they were made.
using Place = std::pair<std::int64_t, std::string>;

Place place_of(const sessions::Session& session) { return {session.created_at, session.id}; }

struct Listing {
  std::string states;  // "running,paused"; empty: any
  json metadata;       // each of it has all that is here
  std::optional<std::string> template_name;
  std::int64_t started_after_ms = 0;
  bool oldest_first = false;
  std::optional<Place> after;  // the last one of the page before
  std::size_t limit = 0;
};

base::Result<Place> place_in(const std::string& token) {
  Place place;
  const char* end = token.data() + token.size();
  const auto [stopped, error] = std::from_chars(token.data(), end, place.first);
  if (error != std::errc() || stopped == end || *stopped != '.') {
    return base::error(Error::Kind::kInvalid,
                       "nextToken is none that a list has given in x-next-token");
  }
  place.second = std::string(stopped + 1, end);
  return place;
}

base::Result<Listing> listing_in(const Services& services, const Request& request) {
  constexpr std::int64_t kListedMax = 100;
  const auto text_of = [&request](const char* name) -> std::optional<std::string> {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::nullopt : std::optional(found->second);
  };
  Listing listing;
  listing.states = text_of("state").value_or("");
  listing.metadata = metadata_in(request);
  if (const auto wanted = text_of("template")) {
    const auto& config = services.config;
    listing.template_name = template_of(*wanted);
    if (listing.template_name->empty()) {
      listing.template_name =
          sandbox::usual_template(config.environments_directory, config.usual_template);
    }
  }
  if (const auto after = text_of("startedAfter")) {
    const auto at_ms = base::from_rfc3339(*after);
    if (!at_ms) return base::error(Error::Kind::kInvalid, "startedAfter must be a time, RFC 3339");
    listing.started_after_ms = *at_ms;
  }
  listing.oldest_first = text_of("order").value_or("desc") == "asc";
  if (const auto token = text_of("nextToken")) listing.after = TRY(place_in(*token));
  const std::int64_t limit = TRY(number_in(request, "limit")).value_or(kListedMax);
  if (limit < 1 || limit > kListedMax) {
    return base::error(Error::Kind::kInvalid,
                       "limit must be from 1 to " + std::to_string(kListedMax));
  }
  listing.limit = static_cast<std::size_t>(limit);
  return listing;
}

bool is_asked_for(const sessions::Session& session, const json& one, const Listing& listing) {
  const std::string is = "," + one["state"].get<std::string>() + ",";
  if (!listing.states.empty() && ("," + listing.states + ",").find(is) == std::string::npos) {
    return false;
  }
  if (listing.template_name && session.template_name != *listing.template_name) return false;
  if (session.created_at < listing.started_after_ms) return false;
  const Place place = place_of(session);
  const bool follows =
      !listing.after || (listing.oldest_first ? *listing.after < place : place < *listing.after);
  return follows && has_all(one["metadata"], listing.metadata);
}

base::Result<Response> list(const Services& services, const Request& request) {
  const Listing listing = TRY(listing_in(services, request));
  std::map<Place, json> found;
  for (const auto& state : TRY(services.states.list(request.principal.id, std::nullopt))) {
    json one = TRY(shown(services, state.session));
    if (!is_asked_for(state.session, one, listing)) continue;
    one.erase("envdAccessToken");
    one.erase("trafficAccessToken");
    found.emplace(place_of(state.session), std::move(one));
  }
  json page = json::array();
  Place last;
  const std::size_t all = found.size();
  while (!found.empty() && page.size() < listing.limit) {
    auto next = found.extract(listing.oldest_first ? found.begin() : std::prev(found.end()));
    last = next.key();
    page.push_back(std::move(next.mapped()));
  }
  Response answer = json_answer(200, page);
  if (page.size() < all) {
    answer.headers.emplace_back("x-next-token", std::to_string(last.first) + "." + last.second);
  }
  return answer;
}

// One look, and how busy it is while that lasts.
base::Result<Response> metrics(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  json measured = json::array();
  // No earlier measurement is kept: a span of time without now has none. `start` and `end` are in
  // seconds.
  const std::int64_t now_s = base::now_ms() / 1000;
  if (TRY(number_in(request, "start")).value_or(now_s) > now_s ||
      TRY(number_in(request, "end")).value_or(now_s) < now_s) {
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
}  // namespace control

std::vector<Argument> creation_body() {
  return {
      {.name = "templateID", .most = 100},
      {.name = "timeout", .type = Type::kInteger, .least = 1, .most = control::kLifetimeSecondsMax},
      {.name = "envVars", .type = Type::kStringMap, .most = 200},
      {.name = "metadata", .type = Type::kStringMap, .most = 100},
      {.name = "allow_internet_access", .type = Type::kBoolean},
      {.name = "autoPause", .type = Type::kBoolean},
      {.name = "autoResume", .type = Type::kObject},
      {.name = "network", .type = Type::kObject},
      {.name = "iam", .type = Type::kObject},
      {.name = "mcp", .type = Type::kObject},
      {.name = "volumeMounts", .type = Type::kStringList}};
}

std::string end_of_endless(const sessions::Session& session) {
  return base::to_rfc3339(session.created_at + control::kLifetimeSecondsMax * 1000);
}

base::Result<Response> create_sandbox(const Services& services, const Request& request,
                                      const Arguments& body) {
  return control::create(services, request, body);
}

std::vector<Route> control_routes(const Services& services) {
  const auto with = [&services](auto function) {
    return [&services, function](const Request& request, const Arguments&) {
      return function(services, request);
    };
  };
  const auto with_body = [&services](auto function) {
    return [&services, function](const Request& request, const Arguments& body) {
      return function(services, request, body);
    };
  };
  const auto timeout_body = [](bool required) {
    return std::vector<Argument>{{.name = "timeout",
                                  .type = Type::kInteger,
                                  .required = required,
                                  .least = 1,
                                  .most = control::kLifetimeSecondsMax}};
  };
  std::vector<Operation> operations{
      {"POST", "/v2/sandboxes",
       [&services](const Request& request, const Arguments& body) {
         return create_sandbox(services, request, body);
       },
       creation_body(), true, Work::kCall},
      {"GET", "/v2/sandboxes", with(control::list)},
      {"POST", "/sandboxes/{id}/timeout", with_body(control::set_timeout), timeout_body(true),
       true},
      {"GET", "/snapshots", with(control::no_snapshots_there)},
      {"POST", "/sandboxes/{id}/snapshots", with(control::no_snapshots), {}, true},
      {"POST", "/sandboxes/{id}/fork", with(control::no_snapshots), {}, true},
      {"PUT",
       "/sandboxes/{id}/network",
       with_body(control::change_network),
       {{.name = "allowOut", .type = Type::kStringList, .most = 1000},
        {.name = "denyOut", .type = Type::kStringList, .most = 1000},
        {.name = "dnsServers", .type = Type::kStringList, .most = 100},
        {.name = "allow_internet_access", .type = Type::kBoolean},
        {.name = "rules", .type = Type::kObject},
        {.name = "egressProxy", .type = Type::kObject}},
       true,
       Work::kCall},
      {"GET", "/sandboxes/{id}/metrics", with(control::metrics), {}, false, Work::kCall},
      {"POST", "/sandboxes/{id}/connect", with_body(control::connect), timeout_body(false), true,
       Work::kCall},
      {"POST", "/v2/sandboxes/{id}/connect", with_body(control::connect), timeout_body(false), true,
       Work::kCall}};
  std::vector<Route> routes;
  for (Operation& operation : operations) {
    routes.push_back(route_of(std::move(operation), refused_with_code));
  }
  return routes;
}

}  // namespace tools::rest::e2b
