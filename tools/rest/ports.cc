#include "tools/rest/ports.h"

#include <fcntl.h>

#include <charconv>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "mcp/http/door.h"
#include "sandbox/base/clock.h"
#include "tools/ports/head.h"
#include "tools/ports/link.h"
#include "tools/ports/pump.h"
#include "tools/rest/api.h"
#include "tools/rest/json_answer.h"

namespace tools::rest {

using base::Error;
using mcp::http::Request;
using mcp::http::Route;
using mcp::http::Taken;

namespace ports {
namespace {

using tools::ports::Inward;
using tools::ports::plain_answer;
using tools::ports::Pump;

constexpr const char* kCookie = "hutch_access";
constexpr std::uint16_t kEnvdPort = 49983;  // of E2B's sandboxes: what answers there is hutch

struct Place {
  std::string session;
  std::uint16_t port = 0;
};

// "3000-session_k2", or with `separator` '/', "session_k2/3000" turned round.
std::optional<std::uint16_t> port_in(std::string_view text) {
  std::uint16_t port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || port == 0) {
    return std::nullopt;
  }
  return port;
}

std::optional<Place> place_in_label(const std::string& label) {
  const std::size_t dash = label.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto port = port_in(std::string_view(label).substr(0, dash));
  if (!port || *port == kEnvdPort) return std::nullopt;
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

std::string cookie_of(const Request& request) {
  std::string_view cookies = request.header("Cookie");
  while (!cookies.empty()) {
    std::string_view one = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(cookies.size(), one.size() + 1));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(kCookie) && one.substr(std::string_view(kCookie).size()).starts_with('=')) {
      return std::string(one.substr(one.find('=') + 1));
    }
  }
  return "";
}

base::Result<sessions::Session> session_at_host(const Services& services, const Request& head,
                                                const Place& place) {
  const std::string_view token = head.header("E2b-Traffic-Access-Token");
  if (!token.empty()) {
    return services.sessions.session_by_access(place.session, std::string(token));
  }
  const auto asked = head.query.find(tools::ports::kAccessParameter);
  const std::string access = asked == head.query.end() ? cookie_of(head) : asked->second;
  return services.sessions.session_by_port_access(place.session, place.port, access);
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
      answer(client, status_of(done.error()), done.error().message);
    }
  }

  static void answer(const base::UniqueFd& client, int status, const std::string& text,
                     const std::vector<std::pair<std::string, std::string>>& headers = {}) {
    // What does not fit at once into a socket that has not been used is more than this.
    (void)base::write_all(client.get(), plain_answer(status, text, headers));
  }

 private:
  base::Status try_to_connect(const sessions::Session& session, const Place& place,
                              const Inward& how, Taken& taken, base::UniqueFd& client) {
    const auto head = TRY(tools::ports::head_for_server(taken.head, how));
    Pump& pump = *TRY(running_pump());
    tools::ports::Pair pair;
    pair.server = TRY(services_.sessions.connect(session, place.port));
    if (head.waits_to_continue) {
      TRY(base::write_all(client.get(), "HTTP/1.1 100 Continue\r\n\r\n"));
    }
    pair.to_server = head.text + taken.rest;
    pair.opening = tools::ports::head_for_client(head.upgrades, how);
    pair.failure = plain_answer(502, "what listens on port " + std::to_string(place.port) +
                                         " of the session does not answer in HTTP");
    pair.client = TRY(base::duplicate(client.get()));
    return pump.add(std::move(pair));
  }

  base::Result<Pump*> running_pump() {
    const std::lock_guard lock(mutex_);
    if (!pump_) pump_ = TRY(Pump::start());
    return pump_.get();
  }

  const Services& services_;
  std::mutex mutex_;
  std::unique_ptr<Pump> pump_;
};

// A link that was clicked: from then on the browser has a cookie, and the address no secret.
bool turn_into_cookie(const Services& services, const Request& head, const Taken& taken) {
  const auto asked = head.query.find(tools::ports::kAccessParameter);
  if (asked == head.query.end()) return false;
  const bool is_tls = services.public_url && services.public_url().starts_with("https:");
  const base::UniqueFd client(::fcntl(taken.fd.get(), F_DUPFD_CLOEXEC, 3));
  Connector::answer(
      client, 303, "see there",
      {{"Location", tools::ports::without_access(head.path, head.query)},
       {"Set-Cookie", std::string(kCookie) + "=" + asked->second +
                          "; Path=/; HttpOnly; SameSite=Lax" + (is_tls ? "; Secure" : "")},
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
    if (ports::turn_into_cookie(services, head, taken)) return;
    const auto session = ports::session_at_host(services, head, *place);
    if (!session.ok()) return;
    connector->connect(session.value(), *place,
                       {.port = place->port,
                        .prefix = "",
                        .keeps_origin = true,
                        .secrets = {"E2b-Traffic-Access-Token"},
                        .secret_cookie = ports::kCookie},
                       std::move(taken));
  };
  Route by_path;
  by_path.path = "/ports/";
  by_path.work = Route::Work::kCall;
  by_path.refusal = refused_with_code;
  by_path.tunnel = [&services, connector](const Request& head, Taken taken) {
    const base::UniqueFd client(::fcntl(taken.fd.get(), F_DUPFD_CLOEXEC, 3));
    const auto place = ports::place_in_path(head.path);
    if (!place) {
      return ports::Connector::answer(client, 404, "ports are at /ports/<session>/<port>/");
    }
    const auto session = services.sessions.find(head.principal.id, place->session);
    if (!session.ok()) return ports::Connector::answer(client, 404, session.error().message);
    connector->connect(session.value(), *place,
                       {.port = place->port,
                        .prefix = "/ports/" + place->session + "/" + std::to_string(place->port),
                        .keeps_origin = false,
                        .secrets = {"Authorization", "X-API-Key", "E2b-Traffic-Access-Token"},
                        .secret_cookie = ""},
                       std::move(taken));
  };
  return {std::move(by_host), std::move(by_path)};
}

}  // namespace tools::rest
