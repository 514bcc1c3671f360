#include "tools/rest/ports.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "mcp/http/budget.h"
#include "mcp/http/door.h"
#include "sandbox/base/clock.h"
#include "tools/ports/head.h"
#include "tools/ports/link.h"
#include "tools/ports/pump.h"
#include "tools/rest/api.h"
#include "tools/rest/json_answer.h"

namespace tools::rest {

using base::Error;
using mcp::http::FairBudget;
using mcp::http::Request;
using mcp::http::Route;
using mcp::http::Taken;

namespace ports {
namespace {

using tools::ports::Inward;
using tools::ports::plain_answer;
using tools::ports::Pump;

constexpr const char* kCookie = "hutch_access";
constexpr const char* kCookieOfTls = "__Host-hutch_access";  // which no other host can set
constexpr std::size_t kCookiesMost = 8;
constexpr std::size_t kOpenMost = Pump::kPairsMax;
constexpr std::chrono::minutes kAnswerPatience{2};
constexpr std::chrono::hours kQuietPatience{1};

using Cookies = std::vector<std::string>;

struct Place {
  std::string session;
  std::uint16_t port = 0;
};

std::optional<std::uint16_t> port_in(std::string_view text) {
  std::uint16_t port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || port == 0) {
    return std::nullopt;
  }
  return port;
}

// "3000-session_k2"
std::optional<Place> place_in_label(const std::string& label) {
  const std::size_t dash = label.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto port = port_in(std::string_view(label).substr(0, dash));
  if (!port || tools::ports::is_port_of_ours(*port)) return std::nullopt;
  return Place{label.substr(dash + 1), *port};
}

// /ports/<session>/<port>, and what follows.
std::optional<Place> place_in_path(const std::string& path) {
  const std::string_view rest = std::string_view(path).substr(std::string_view("/ports/").size());
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::string_view port_text = rest.substr(slash + 1);
  port_text = port_text.substr(0, port_text.find('/'));
  const auto port = port_in(port_text);
  if (!port) return std::nullopt;
  return Place{std::string(rest.substr(0, slash)), *port};
}

bool is_tls(const Services& services) {
  return services.public_url && services.public_url().starts_with("https:");
}

// Other servers below the same name can put cookies of this name beside ours: each is tried.
std::vector<std::string> cookies_of(const Request& request) {
  std::vector<std::string> values;
  for (const std::string_view one : tools::ports::parts_of(request.header("Cookie"))) {
    const std::string_view name = one.substr(0, one.find('='));
    if (name.size() == one.size() || values.size() >= kCookiesMost) continue;
    if (name == kCookie || name == kCookieOfTls) values.emplace_back(one.substr(name.size() + 1));
  }
  return values;
}

// Whether a browser sends its cookie for a page of that host itself, or because a person goes
// there: servers of other sessions are the same site to it, and may have it ask for anything.
bool is_asked_by_itself(const Request& request) {
  const std::string_view site = request.header("Sec-Fetch-Site");
  if (site.empty() || site == "same-origin" || site == "none") return true;
  const bool reads = request.method == "GET" || request.method == "HEAD";
  return reads && request.header("Sec-Fetch-Mode") == "navigate" &&
         request.header("Sec-Fetch-Dest") == "document";
}

base::Result<sessions::Session> session_at_host(const Services& services, const Request& head,
                                                const Place& place) {
  auto& all = services.sessions;
  const std::string_view token = head.header("E2b-Traffic-Access-Token");
  if (!token.empty()) return all.session_by_access(place.session, std::string(token));
  const auto asked = head.query.find(tools::ports::kAccessParameter);
  if (asked != head.query.end()) {
    return all.session_by_port_access(place.session, place.port, asked->second);
  }
  for (const std::string& cookie : is_asked_by_itself(head) ? cookies_of(head) : Cookies()) {
    auto session = all.session_by_port_access(place.session, place.port, cookie);
    if (session.ok()) return session;
  }
  return all.session_by_port_access(place.session, place.port, "");
}

std::optional<mcp::auth::Challenge> identify(const Services& services, Request& head) {
  const auto place = place_in_label(mcp::http::host_label(head.header("Host")));
  const auto session = session_at_host(services, head, *place);
  if (!session.ok()) return mcp::auth::Challenge{404, "", session.error().message};
  head.principal = {session.value().principal_id, {}};
  return std::nullopt;
}

// What connects clients with servers, once there is one.
class Connector {
 public:
  explicit Connector(const Services& services) : services_(services) {}

  void connect(const sessions::Session& session, const Place& place, const Inward& how,
               Taken taken) {
    base::UniqueFd client(::fcntl(taken.fd.get(), F_DUPFD_CLOEXEC, 3));
    if (auto done = try_to_connect(session, place, how, taken, client); !done.ok()) {
      answer(std::move(client), status_of(done.error()), done.error().message);
    }
  }

  // By the pump, since a client may read slowly, and has to read it all before its socket closes.
  void answer(base::UniqueFd client, int status, const std::string& text,
              const std::vector<std::pair<std::string, std::string>>& headers = {}) {
    tools::ports::Pair pair;
    pair.client = std::move(client);
    pair.failure = plain_answer(status, text, headers);
    pair.quiet_patience = kAnswerPatience;
    const auto pump = running_pump();
    if (pump.ok()) (void)pump.value()->add(std::move(pair));
  }

 private:
  base::Status try_to_connect(const sessions::Session& session, const Place& place,
                              const Inward& how, Taken& taken, const base::UniqueFd& client) {
    const auto head = TRY(tools::ports::head_for_server(taken.head, how));
    Pump& pump = *TRY(running_pump());
    tools::ports::Pair pair;
    pair.room = FairBudget::take(open_, session.principal_id, 1);
    if (!pair.room) {
      return base::error(Error::Kind::kLimit, "too many connections to ports are open: close some");
    }
    pair.server = TRY(services_.sessions.connect(session, place.port));
    if (head.waits_to_continue) TRY(let_continue(client));
    pair.to_server = head.text + taken.rest;
    pair.opening = tools::ports::head_for_client(head.upgrades, how);
    pair.failure = plain_answer(502, "what listens on port " + std::to_string(place.port) +
                                         " of the session does not answer in HTTP");
    pair.opening_patience = kAnswerPatience;
    pair.quiet_patience = kQuietPatience;
    pair.client = TRY(base::duplicate(client.get()));
    return pump.add(std::move(pair));
  }

  static base::Status let_continue(const base::UniqueFd& client) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    const ssize_t sent =
        ::send(client.get(), kContinue.data(), kContinue.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(kContinue.size())) return base::done();
    return base::error(Error::Kind::kUnavailable, "the client reads nothing");
  }

  base::Result<Pump*> running_pump() {
    const std::lock_guard lock(mutex_);
    if (!pump_) pump_ = TRY(Pump::start());
    return pump_.get();
  }

  const Services& services_;
  const std::shared_ptr<FairBudget> open_ = std::make_shared<FairBudget>(kOpenMost);
  std::mutex mutex_;
  std::unique_ptr<Pump> pump_;
};

// A link that was clicked: from then on the browser has a cookie, and the address no secret.
bool turn_into_cookie(const Services& services, Connector& connector, const Request& head,
                      const Place& place, const Taken& taken) {
  const auto asked = head.query.find(tools::ports::kAccessParameter);
  if (asked == head.query.end() ||
      !services.sessions.session_by_port_access(place.session, place.port, asked->second).ok()) {
    return false;
  }
  const std::string name = is_tls(services) ? kCookieOfTls : kCookie;
  connector.answer(base::UniqueFd(::fcntl(taken.fd.get(), F_DUPFD_CLOEXEC, 3)), 303, "see there",
                   {{"Location", tools::ports::without_access(head.path, head.query)},
                    {"Set-Cookie", name + "=" + asked->second + "; Path=/; HttpOnly; SameSite=Lax" +
                                       (is_tls(services) ? "; Secure" : "")},
                    {"Referrer-Policy", "no-referrer"}});
  return true;
}

}  // namespace
}  // namespace ports

std::vector<Route> port_routes(const Services& services) {
  const auto connector = std::make_shared<ports::Connector>(services);
  Route by_host;
  by_host.access = Route::Access::kPublic;
  by_host.work = Route::Work::kCall;
  by_host.refusal = refused_with_code;
  by_host.takes_label = [](const std::string& label) {
    return ports::place_in_label(label).has_value();
  };
  by_host.identify = [&services](Request& head) { return ports::identify(services, head); };
  by_host.tunnel = [&services, connector](const Request& head, Taken taken) {
    const auto place = ports::place_in_label(mcp::http::host_label(head.header("Host")));
    if (ports::turn_into_cookie(services, *connector, head, *place, taken)) return;
    const auto session = ports::session_at_host(services, head, *place);
    if (!session.ok()) return;
    connector->connect(session.value(), *place,
                       {.port = place->port,
                        .prefix = "",
                        .keeps_origin = true,
                        .secrets = {"E2b-Traffic-Access-Token"},
                        .secret_cookies = {ports::kCookie, ports::kCookieOfTls},
                        .is_tls = ports::is_tls(services)},
                       std::move(taken));
  };
  Route by_path;
  by_path.path = "/ports/";
  by_path.work = Route::Work::kCall;
  by_path.refusal = refused_with_code;
  by_path.tunnel = [&services, connector](const Request& head, Taken taken) {
    base::UniqueFd client(::fcntl(taken.fd.get(), F_DUPFD_CLOEXEC, 3));
    const auto place = ports::place_in_path(head.path);
    if (!place) {
      return connector->answer(std::move(client), 404, "ports are at /ports/<session>/<port>/");
    }
    const auto session = services.sessions.find(head.principal.id, place->session);
    if (!session.ok()) {
      return connector->answer(std::move(client), 404, session.error().message);
    }
    connector->connect(session.value(), *place,
                       {.port = place->port,
                        .prefix = "/ports/" + place->session + "/" + std::to_string(place->port),
                        .keeps_origin = false,
                        .secrets = {"Authorization", "X-API-Key", "E2b-Traffic-Access-Token"},
                        .secret_cookies = {},
                        .is_tls = ports::is_tls(services)},
                       std::move(taken));
  };
  return {std::move(by_host), std::move(by_path)};
}

}  // namespace tools::rest
