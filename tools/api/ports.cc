#include "tools/api/ports.h"

#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/random_id.h"
#include "base/text.h"
#include "mcp/http/door.h"
#include "sessions/host_id.h"
#include "sessions/session.h"
#include "sessions/session_states.h"
#include "sessions/session_table.h"
#include "sessions/session_time.h"
#include "sessions/session_tokens.h"
#include "sessions/sessions.h"
#include "tools/api/api.h"
#include "tools/api/json_answer.h"
#include "tools/api/port_connector.h"
#include "tools/ports/head.h"
#include "tools/ports/link.h"

namespace tools::api {

using mcp::http::Request;
using mcp::http::Route;
using mcp::http::Taken;

namespace {

constexpr const char* kCookie = "hutch_access";
constexpr const char* kCookieOfTls = "__Host-hutch_access";  // which no other host can set
constexpr std::size_t kCookiesMost = 64;

using Cookies = std::vector<std::string>;

struct PortPlace {
  std::string session;
  std::uint16_t port = 0;
};

std::optional<std::uint16_t> port_in(std::string_view text) {
  const auto port = base::number_of<std::uint16_t>(text);
  return port && *port != 0 ? port : std::nullopt;
}

// "3000-session-k2"; a name like 10-0-0-1 may be one of this server's own.
std::optional<PortPlace> place_in_label(const std::string& label) {
  const std::size_t dash = label.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto port = port_in(std::string_view(label).substr(0, dash));
  if (!port || tools::ports::is_port_of_ours(*port)) return std::nullopt;
  std::string session = sessions::session_id_of(label.substr(dash + 1));
  if (!base::is_short_id(session, "session_")) return std::nullopt;
  return PortPlace{std::move(session), *port};
}

// /ports/<session>/<port>, and what follows.
std::optional<PortPlace> place_in_path(const std::string& path) {
  const std::string_view rest = std::string_view(path).substr(std::string_view("/ports/").size());
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::string_view port_text = rest.substr(slash + 1);
  port_text = port_text.substr(0, port_text.find('/'));
  const auto port = port_in(port_text);
  if (!port) return std::nullopt;
  return PortPlace{std::string(rest.substr(0, slash)), *port};
}

// As it stands in the head.
std::string_view target_of(std::string_view head) {
  const std::size_t begin = head.find(' ') + 1;
  return head.substr(begin, head.find(' ', begin) - begin);
}

bool is_tls(const Services& services) {
  return services.public_url && services.public_url().starts_with("https:");
}

const char* cookie_name(const Services& services) {
  return is_tls(services) ? kCookieOfTls : kCookie;
}

// Other servers below the same name can put cookies of this name beside ours: each is tried.
std::vector<std::string> cookies_of(const Services& services, const Request& request) {
  const std::string wanted = cookie_name(services);
  std::vector<std::string> values;
  for (const std::string_view one : tools::ports::parts_of(request.header("Cookie"))) {
    const std::string_view name = one.substr(0, one.find('='));
    if (name.size() == one.size() || values.size() >= kCookiesMost || name != wanted) continue;
    values.emplace_back(one.substr(name.size() + 1));
  }
  return values;
}

// "https://3000-session-k2.example.org", and whatever may follow it.
bool is_at_host(std::string_view address, std::string_view host) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!address.starts_with(scheme)) continue;
    address.remove_prefix(scheme.size());
    return base::lower(address.substr(0, address.find('/'))) == base::lower(host);
  }
  return false;
}

// No page of another place is named as the one that has a browser ask: Safari before 16.4 says
// nothing else of it.
bool names_no_other_page(const Request& request) {
  const std::string_view host = request.header("Host");
  for (const char* name : {"Origin", "Referer"}) {
    const auto [begin, end] = request.headers.equal_range(name);
    for (auto at = begin; at != end; ++at) {
      if (!is_at_host(at->second, host)) return false;
    }
  }
  return true;
}

// Returns whether a browser sends its cookie for a page of that host itself, or because a person
// goes there: servers of other sessions are the same site to it, and may have it ask for anything.
bool is_asked_by_itself(const Request& request) {
  const std::string_view site = request.header("Sec-Fetch-Site");
  if (site.empty()) return names_no_other_page(request);
  if (site == "same-origin" || site == "none") return true;
  const bool reads = request.method == "GET" || request.method == "HEAD";
  return reads && request.header("Sec-Fetch-Mode") == "navigate" &&
         request.header("Sec-Fetch-Dest") == "document";
}

// One that a program sends and says nothing of pages: what it names is its own matter.
bool has_own_token(const Request& request) {
  return (request.has_header("Authorization") || request.has_header("X-API-Key")) &&
         !request.has_header("Sec-Fetch-Site");
}

// Returns what a request wants to be let in by, as far as it is heard, in the order in which it is
// tried; the cookies of a browser only where a page of that host, or a person, has it ask.
struct Keys {
  std::string traffic_token;
  std::string link;
  Cookies cookies;

  [[nodiscard]] bool is_none() const {
    return traffic_token.empty() && link.empty() && cookies.empty();
  }
};

Keys keys_of(const Services& services, const Request& head) {
  Keys keys{std::string(head.header("E2b-Traffic-Access-Token")), "", {}};
  const auto asked = head.query.find(tools::ports::kAccessParameter);
  if (asked != head.query.end()) keys.link = asked->second;
  if (is_asked_by_itself(head)) keys.cookies = cookies_of(services, head);
  return keys;
}

base::Result<sessions::Session> session_at_host(const Services& services, const Keys& keys,
                                                const PortPlace& place) {
  const sessions::SessionTokens& tokens = services.tokens;
  if (!keys.traffic_token.empty()) return tokens.session_by(place.session, keys.traffic_token);
  if (!keys.link.empty()) return tokens.session_by_port(place.session, place.port, keys.link);
  for (const std::string& cookie : keys.cookies) {
    auto session = tokens.session_by_port(place.session, place.port, cookie);
    if (session.ok()) return session;
  }
  return tokens.session_by_port(place.session, place.port, "");
}

std::string host_for(const sessions::Session& session, std::uint16_t port) {
  constexpr std::string_view kPort = "${PORT}";
  std::string host = session.port_host.value_or("");
  const std::size_t at = host.find(kPort);
  if (at != std::string::npos) host.replace(at, kPort.size(), std::to_string(port));
  return host;
}

struct LetIn {
  sessions::Session session;
  bool is_visitor = false;  // by nothing but that its ports are public
};

base::Result<LetIn> let_in(const Services& services, const Request& head, const PortPlace& place) {
  auto session = session_at_host(services, keys_of(services, head), place);
  if (session.ok()) return LetIn{std::move(session).value()};
  if (services.public_ports) {
    auto any = services.session_table.find_of_any(place.session);
    const bool is_public = any.ok() && any.value().public_ports && sessions::is_live(any.value());
    if (is_public) return LetIn{std::move(any).value(), true};
  }
  return std::move(session).error();
}

mcp::auth::Challenge refused_as_e2b(int status, const PortPlace& place,
                                    const std::string& message) {
  mcp::auth::Challenge challenge{status, "", message};
  challenge.json_body = base::print_json(
      {{"sandboxId", sessions::host_id(place.session)}, {"message", message}, {"code", status}});
  return challenge;
}

// Answers who has no key, the same wherever and whether or not anything is there. A token of hutch
// is none: it would come to the code that listens.
mcp::auth::Challenge key_needed() {
  return {401, "HutchAccess",
          "a key is needed here: hutch_access=KEY of the link that share_port gives, in the query "
          "of each request, or a header E2b-Traffic-Access-Token with a sandbox's traffic token. "
          "With a token of hutch, ask hutch itself: /ports/SESSION/PORT/"};
}

// Who knows a sandbox's token may know that it has ended; to anybody else it is as one that never
// was, and as one whose ports are not public.
mcp::auth::Challenge why_refused(const Services& services, const Request& head,
                                 const PortPlace& place, const base::Error& error) {
  if (!services.public_ports) {
    if (keys_of(services, head).is_none()) return key_needed();
    return {404, "", error.message};
  }
  const std::string token(head.header("E2b-Traffic-Access-Token"));
  if (services.tokens.is_token_of(place.session, token)) {
    return refused_as_e2b(502, place, "The sandbox was not found");
  }
  return refused_as_e2b(403, place, "This port is not public: send its traffic access token");
}

std::optional<mcp::auth::Challenge> identify_visitor(const Services& services, Request& head) {
  const auto place = place_in_label(mcp::http::host_label(head.header("Host")));
  const auto found = let_in(services, head, *place);
  if (!found.ok()) return why_refused(services, head, *place, found.error());
  const sessions::Session& session = found.value().session;
  if (services.public_ports && !sessions::is_live(session)) {
    return refused_as_e2b(502, *place, "The sandbox was not found");
  }
  if (!session.wakes_by_port && services.states.sleeps(session)) {
    return refused_as_e2b(502, *place, "The sandbox is paused");
  }
  head.principal = {found.value().is_visitor ? PortConnector::kVisitors : session.principal_id, {}};
  return std::nullopt;
}

// A link that was clicked: from then on the browser has a cookie, and the address no secret. A
// program gets its answer at once.
bool turn_into_cookie(const Services& services, PortConnector& connector, const Request& head,
                      const PortPlace& place, const Taken& taken) {
  const auto asked = head.query.find(tools::ports::kAccessParameter);
  const bool is_person = (head.method == "GET" || head.method == "HEAD") &&
                         (head.header("Sec-Fetch-Mode") == "navigate" ||
                          head.header("Accept").find("text/html") != std::string_view::npos);
  if (!is_person || asked == head.query.end() ||
      !services.tokens.session_by_port(place.session, place.port, asked->second).ok()) {
    return false;
  }
  connector.answer(head.principal.id, taken, 303, "see there",
                   {{"Location", tools::ports::without_access(target_of(taken.head))},
                    {"Set-Cookie", std::string(cookie_name(services)) + "=" + asked->second +
                                       "; Path=/; HttpOnly; SameSite=Lax" +
                                       (is_tls(services) ? "; Secure" : "")},
                    {"Referrer-Policy", "no-referrer"}});
  return true;
}

}  // namespace

std::vector<Route> port_routes(const Services& services) {
  const auto connector = std::make_shared<PortConnector>(services);
  Route by_host;
  by_host.access = Route::Access::kPublic;
  by_host.work = Route::Work::kCall;
  by_host.refusal = refused_with_code;
  by_host.takes_label = [](const std::string& label) { return place_in_label(label).has_value(); };
  by_host.identify = [&services](Request& head) { return identify_visitor(services, head); };
  by_host.tunnel = [&services, connector](const Request& head, Taken taken) {
    const auto place = place_in_label(mcp::http::host_label(head.header("Host")));
    if (turn_into_cookie(services, *connector, head, *place, taken)) return;
    const auto found = let_in(services, head, *place);
    if (!found.ok()) return;
    const sessions::Session& session = found.value().session;
    connector->connect(session,
                       {.port = place->port,
                        .keeps_origin = true,
                        .secrets = {"E2b-Traffic-Access-Token"},
                        .secret_cookies = {kCookie, kCookieOfTls},
                        .is_tls = is_tls(services),
                        .host = host_for(session, place->port)},
                       std::move(taken), head.principal.id);
  };
  Route by_path;
  by_path.path = "/ports/";
  by_path.work = Route::Work::kCall;
  by_path.refusal = refused_with_code;
  by_path.tunnel = [&services, connector](const Request& head, Taken taken) {
    const auto place = place_in_path(head.path);
    if (!place)
      return connector->answer(head.principal.id, taken, 404,
                               "ports are at /ports/<session>/<port>/");
    // Where no token is asked for, any page could have a browser ask.
    if (!has_own_token(head) && !is_asked_by_itself(head)) {
      return connector->answer(head.principal.id, taken, 403,
                               "pages of other places are not answered here");
    }
    const auto session = services.sessions.find(head.principal.id, place->session);
    if (!session.ok())
      return connector->answer(head.principal.id, taken, 404, session.error().message);
    connector->connect(session.value(),
                       {.port = place->port,
                        .prefix = "/ports/" + place->session + "/" + std::to_string(place->port),
                        .secrets = {"Authorization", "X-API-Key", "E2b-Traffic-Access-Token"},
                        .is_tls = is_tls(services)},
                       std::move(taken), session.value().principal_id);
  };
  return {std::move(by_host), std::move(by_path)};
}

}  // namespace tools::api
