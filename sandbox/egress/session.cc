#include "sandbox/egress/session.h"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>

#include "sandbox/egress/addresses.h"
#include "sandbox/egress/direct.h"
#include "sandbox/egress/dns.h"
#include "sandbox/egress/name_service.h"
#include "sandbox/egress/proxy.h"
#include "sandbox/egress/session_advice.h"
#include "sandbox/egress/upstream.h"
#include "sandbox/egress/upstream_proxy.h"
#include "sandbox/run.h"

namespace sandbox::egress {

using base::Error;
using nlohmann::json;
using std::chrono::seconds;

namespace {

constexpr const char* kUsedUp =
    "the session has used up what it may send and receive: session_mb in [network] of the "
    "configuration";
constexpr const char* kUsedUpToday =
    "the sessions of this principal have used up what they may send and receive today (UTC): "
    "principal_daily_mb in [network] of the configuration";
constexpr seconds kBeginPatience{20};  // until it is known where to, and connected
constexpr seconds kSilenceMost{3600};

template <typename Handle>
base::Status take_over(Handle& handle, const typename Handle::protocol_type& protocol,
                       base::UniqueFd socket) {
  error_code failure;
  handle.assign(protocol, socket.get(), failure);
  if (failure) return base::error(Error::Kind::kInvalid, "no such socket: " + failure.message());
  (void)socket.release();
  return base::done();
}

}  // namespace

Session::Session(asio::io_context& context, Resources& resources, std::shared_ptr<BoxEvents> events)
    : context_(context),
      resources_(resources),
      lookups_(context, resources.lookup_threads, resources.lookup_turns),
      events_(std::move(events)),
      credentials_(context,
                   [held = events_](const std::string& name) {
                     held->tell({{"event", "wanted"}, {"credential", name}});
                   }),
      requests_(context, quota_.requests_per_second, 2 * quota_.requests_per_second),
      accepted_(context, quota_.requests_per_second, 2 * quota_.requests_per_second),
      // Later: whoever counts goes on with its connection.
      meter_(std::make_shared<Meter>([this, &context] {
        asio::post(context, [weak = weak_from_this()] {
          if (const auto self = weak.lock()) self->use_up();
        });
      })),
      underway_(std::make_shared<Underway>(context, events_, meter_)) {
  meter_->set_counted([weak = std::weak_ptr(underway_)] {
    if (const auto underway = weak.lock()) underway->count_soon();
  });
}

void Session::set_rules(std::vector<NetworkRule> rules) {
  const std::vector<NetworkRule> before = std::exchange(rules_, std::move(rules));
  const auto was_taken = [this](const NetworkRule& rule) {
    return std::find(rules_.begin(), rules_.end(), rule) == rules_.end();
  };
  // A connection ends when a rule that covers its host and port is gone: nobody looks again at what
  // is under way.
  for (const auto& connection : connections_) {
    const bool ends = std::any_of(before.begin(), before.end(), [&](const NetworkRule& rule) {
      return sandbox::allows(rule, connection->host, connection->port) && was_taken(rule);
    });
    if (ends) connection->close();
  }
}

bool Session::reaches_what_is_denied(Connection& connection) const {
  error_code failure;
  const auto there = connection.upstream.socket().remote_endpoint(failure);
  return !failure && is_denied(there.address(), denied_addresses_);
}

void Session::set_denied_addresses(std::vector<AddressRange> ranges) {
  denied_addresses_ = std::move(ranges);
  for (const auto& connection : connections_) {
    if (reaches_what_is_denied(*connection)) connection->close();
  }
}

Task<void> Session::pace() {
  co_await events_->taken();
  co_await requests_.turn();
  if (const auto share = share_) co_await share->requests.turn();
}

void Session::set_quota(const NetworkQuota& quota) {
  quota_ = quota;
  for (Pace* pace : {&requests_, &accepted_}) {
    pace->set(quota.requests_per_second, 2 * quota.requests_per_second);
  }
  share_ = resources_.share_of(context_, quota);
  lookups_.set_owner({share_, &share_->lookups});
  if (quota.bytes_left) meter_->set(*quota.bytes_left);
  if (!quota.principal_bytes_a_day) return;
  share_->bytes->allow({.day = quota.principal_day,
                        .bytes_left = quota.principal_bytes_left,
                        .bytes_a_day = *quota.principal_bytes_a_day});
  meter_->set_daily(share_->bytes);
}

std::string Session::why_used_up() const {
  if (meter_->is_used_up()) return kUsedUp;
  return meter_->is_used_up_today() ? kUsedUpToday : "";
}

void Session::use_up() {
  refuse("", 0, why_used_up());
  for (const auto& connection : connections_) connection->close();
}

void Session::set_addresses(std::map<std::string, asio::ip::address> addresses) {
  addresses_ = std::move(addresses);
}

base::Status Session::add_listener(const std::string& kind, std::uint16_t port,
                                   base::UniqueFd socket) {
  if (kind == "dns_udp") {
    packets_ = std::make_shared<asio::ip::udp::socket>(context_);
    TRY(take_over(*packets_, asio::ip::udp::v4(), std::move(socket)));
    error_code unused;
    packets_->non_blocking(true, unused);  // a reply that finds no room is asked for again
    asio::co_spawn(context_, serve_name_packets(shared_from_this(), packets_), asio::detached);
    return base::done();
  }
  Serve serve = nullptr;
  if (kind == "dns_tcp") serve = &serve_names;
  if (kind == "proxy") serve = &serve_proxy;
  if (kind == "direct") serve = &serve_direct;
  if (serve == nullptr) return base::error(Error::Kind::kInvalid, "no such kind: " + kind);
  auto acceptor = std::make_shared<Acceptor>(context_);
  TRY(take_over(*acceptor, asio::ip::tcp::v4(), std::move(socket)));
  acceptors_.push_back(acceptor);
  asio::co_spawn(context_, accept(std::move(acceptor), port, serve), asio::detached);
  return base::done();
}

void Session::close() {
  closed_ = true;
  error_code unused;
  for (const auto& acceptor : acceptors_) acceptor->close(unused);
  if (packets_) packets_->close(unused);
  for (const auto& connection : connections_) connection->close();
}

void Session::end() {
  close();
  // Later: what has just been carried is counted by those who have waited for it.
  asio::post(context_, [self = shared_from_this()] {
    self->underway_->end_all();
    self->events_->tell_count();
    self->events_->tell({{"event", "ended"}});
  });
}

bool Session::allows(const std::string& host, std::uint16_t port) const {
  return sandbox::allows(rules_, host, port);
}

bool Session::looks_into(const std::string& host, std::uint16_t port) const {
  return limits_requests(rules_, host, port) || !credentials_.of(host, port).empty() || keeps(host);
}

bool Session::keeps(const std::string& host) const {
  return resources_.downloads.keeps() && leaves_ && kept_hosts_.contains(host);
}

void Session::set_credentials(std::vector<Credential> credentials) {
  credentials_.set(std::move(credentials));
}

void Session::take_credential(const std::string& name, base::UniqueFd pipe) {
  asio::co_spawn(context_, credentials_.take(name, std::move(pipe)),
                 [self = shared_from_this()](const std::exception_ptr&) {});
}

bool Session::allows_request(const Connection& connection, std::string_view method,
                             std::string_view path) const {
  return sandbox::allows_request(rules_, connection.host, connection.port, method, path);
}

bool Session::limits_requests_of(const Connection& connection) const {
  return limits_requests(rules_, connection.host, connection.port);
}

std::optional<std::string> Session::name_of(Connection& connection) const {
  error_code failure;
  const auto local = connection.client.socket().local_endpoint(failure);
  if (failure || !local.address().is_v4()) return std::nullopt;
  return names_.name_of(local.address().to_v4().to_uint());
}

std::optional<std::string> Session::answer_names(std::string_view query) {
  return answer_query(query, [this](const std::string& name) {
    const auto host = canonical_host(name);
    // The addresses that names have here are the door's, and mean nothing elsewhere.
    if (host.ok() && is_name_of_address(host.value())) {
      refuse(host.value(), 0, "addresses have no names in a session");
      return Lookup{};
    }
    if (!host.ok() || !allows_host(rules_, host.value())) {
      refuse(host.ok() ? host.value() : name.substr(0, 255), 0,
             not_allowed(host.ok() ? host.value() : "HOST", 0));
      return Lookup{};
    }
    const auto address = names_.address_of(host.value());
    if (address) return Lookup{Lookup::Verdict::kAllowed, *address};
    refuse(
        host.value(), 0,
        "the session has asked for " + std::to_string(Names::kMax) + " names, which is the most");
    return Lookup{Lookup::Verdict::kTooMany};
  });
}

Refused Session::not_allowed(std::string host, std::uint16_t port) {
  const bool is_usual = port == 0 || port == kHttpPort || port == kHttpsPort;
  if (!is_usual) host += ":" + std::to_string(port);
  return {std::string(kNotAllowed), std::move(host)};
}

std::string Session::words_of(const Refused& why) const {
  return why.reason + (why.missing_rule.empty() ? "" : advice_on(id_, why.missing_rule));
}

void Session::refuse(const std::string& host, std::uint16_t port, const std::string& reason,
                     const AskedFor& asked) {
  refuse(host, port, Refused{reason}, asked);
}

void Session::refuse(const std::string& host, std::uint16_t port, const Refused& why,
                     const AskedFor& asked) {
  if (!closed_) events_->tell_refusal(host, port, why, asked);
}

Task<std::string> Session::open(Connection& connection) {
  std::optional<asio::ip::address> pinned;
  if (const auto known = addresses_.find(connection.host); known != addresses_.end()) {
    pinned = known->second;
  }
  co_await events_->taken();
  if (const std::string used_up = why_used_up(); !used_up.empty()) {
    refuse(connection.host, connection.port, used_up);
    co_return used_up;
  }
  const bool may_be_private = sandbox::allows_host(private_hosts_, connection.host);
  std::string reason;
  if (!pinned && goes_by(proxy_, connection.host) && !denied_addresses_.empty()) {
    reason =
        "this session denies addresses, and which one the host has is known to the proxy alone "
        "by which hosts are reached here";
  } else if (!pinned && goes_by(proxy_, connection.host)) {
    reason = co_await connect_by_proxy(connection, lookups_, proxy_);
  } else {
    const Bounds bounds{may_be_private, denied_addresses_};
    reason = co_await connect_upstream(connection, lookups_, pinned, bounds);
  }
  // It may be denied since it was looked at.
  if (reason.empty() && reaches_what_is_denied(connection)) reason = "its address is denied now";
  if (reason.empty() && !closed_) {
    connection.began = Connection::Clock::now();
    tell_opened(connection);
    co_return "";
  }
  refuse(connection.host, connection.port, reason);
  co_return reason.empty() ? "the session has ended" : reason;
}

Task<bool> Session::secure_client(Connection& connection, const std::string& first) {
  std::string reason = "the session came without a certificate authority";
  if (leaves_) {
    auto context = leaves_->of(connection.host);
    if (context.ok()) {
      const auto held = context.value();
      const error_code failure = co_await connection.client.accept_tls(*held, first);
      if (!failure) co_return true;
      reason = "the client ends TLS with the door: " + failure.message();
      // Most often it does not trust the session's certificates.
      reason += failure.message().find("no application protocol") != std::string::npos
                    ? ". Where requests are looked into it has to speak HTTP/1.1 or HTTP/2"
                    : ". It has to trust the certificates in $SSL_CERT_FILE";
    } else {
      reason = context.error().message;
    }
  }
  refuse(connection.host, connection.port, reason);
  co_return false;
}

Task<std::string> Session::secure_upstream(Connection& connection) {
  std::string reason = "the session came without certificates to trust";
  if (roots_) {
    const auto held = roots_;
    const error_code failure = co_await connection.upstream.connect_tls(
        *held, connection.host, connection.client.speaks_http2());
    if (!failure) co_return "";
    reason = failure == asio::error::no_protocol_option
                 ? "the host does not speak HTTP/2, and the client nothing else"
                 : "no TLS with the host: " + failure.message();
  }
  refuse(connection.host, connection.port, reason);
  co_return reason;
}

void Session::join(const std::shared_ptr<Connection>& connection, std::string first) {
  connection->allow_silence(kSilenceMost);
  connection->join(std::move(first),
                   [self = shared_from_this(), connection] { self->finish(connection); });
}

void Session::tell_opened(Connection& connection) {
  json event = {{"event", "opened"},
                {"host", connection.host},
                {"port", connection.port},
                {"looked_into", connection.looked_into}};
  if (connection.looked_into) return events_->tell(event);
  const auto count = [&connection, sent = std::int64_t{connection.sent},
                      received = std::int64_t{connection.received}] {
    return Underway::Carried{connection.sent - sent, connection.received - received};
  };
  connection.told.begin(underway_, std::move(event), count, Connection::Clock::now());
}

void Session::tell_closed(Connection& connection) {
  connection.told.end({{"event", "closed"}});
  underway_->tell_used();
}

void Session::begin_request(const Connection& connection, RequestNote& note,
                            const std::string& credential, Underway::Count count) {
  note.told.begin(underway_,
                  {{"event", "begun"},
                   {"host", connection.host},
                   {"port", connection.port},
                   {"method", note.asked.method},
                   {"path", note.asked.path},
                   {"credential", credential}},
                  std::move(count), note.began);
}

void Session::begin_request(const Connection& connection, RequestNote& note,
                            const std::string& credential) {
  begin_request(connection, note, credential, [&connection, &note] {
    return Underway::Carried{connection.sent - note.sent_before,
                             connection.received - note.received_before};
  });
}

void Session::end_request(RequestNote& note, unsigned status, bool was_kept) {
  note.told.end({{"event", "request"}, {"status", status}, {"kept", was_kept}});
}

void Session::finish(const std::shared_ptr<Connection>& connection) {
  tell_closed(*connection);
  connections_.erase(connection);
}

Task<void> Session::accept(std::shared_ptr<Acceptor> acceptor, std::uint16_t port, Serve serve) {
  const auto self = shared_from_this();
  while (!closed_) {
    co_await events_->taken();
    co_await accepted_.turn();
    error_code failure;
    Socket accepted = co_await acceptor->async_accept(into(failure));
    if (failure == asio::error::operation_aborted || closed_) co_return;
    if (failure) {
      // No descriptor is left, most likely: others end meanwhile.
      asio::steady_timer pause(context_, std::chrono::milliseconds(50));
      co_await pause.async_wait(into(failure));
      continue;
    }
    start(std::move(accepted), port, serve);
  }
}

std::string Session::take_body_place(std::shared_ptr<void>& place) {
  struct Taken {
    std::shared_ptr<PrincipalShare> share;
    std::shared_ptr<void> of_session;
    std::shared_ptr<void> of_principal;
  };
  const auto taken = std::make_shared<Taken>();
  taken->share = share_;
  taken->of_session = held_bodies_.take();
  if (!taken->of_session) return "the session";
  if (share_) {
    taken->of_principal = share_->held_bodies.take();
    if (!taken->of_principal) return "the sessions of its principal";
  }
  place = taken;
  return "";
}

std::string Session::take_place(Connection& connection) {
  const auto most = static_cast<std::size_t>(quota_.connections);
  if (connections_.size() >= most) return "the session has " + std::to_string(most);
  connection.share = share_;
  if (share_) {
    connection.place_of_principal = share_->connections.take();
    if (!connection.place_of_principal) {
      return "the sessions of its principal have " + std::to_string(share_->connections.most());
    }
  }
  const std::size_t had = share_ ? share_->connections.taken() - 1 : 0;
  connection.place = resources_.places.take(had);
  if (connection.place) return "";
  if (resources_.places.taken() == resources_.places.most()) {
    return "all sessions together have " + std::to_string(resources_.places.most());
  }
  return "beside others', the sessions of its principal have " + std::to_string(had);
}

void Session::start(Socket accepted, std::uint16_t port, Serve serve) {
  auto connection = std::make_shared<Connection>(context_, std::move(accepted), meter_);
  connection->port = port;
  const std::string full = take_place(*connection);
  if (!full.empty()) {
    refuse("", port, full + " connections open, which is the most");
    return connection->close();
  }
  connections_.insert(connection);
  connection->allow_silence(kBeginPatience);
  asio::co_spawn(context_, serve(shared_from_this(), connection),
                 [self = shared_from_this(), connection](const std::exception_ptr& failure) {
                   // One that was joined ends later, and says so itself.
                   if (failure) connection->close();
                   if (!connection->client.is_open()) self->connections_.erase(connection);
                 });
}

}  // namespace sandbox::egress
