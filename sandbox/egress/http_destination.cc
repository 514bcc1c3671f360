#include "sandbox/egress/http_destination.h"

#include <chrono>
#include <utility>

#include "sandbox/egress/http_relay.h"

namespace sandbox::egress {
namespace {

constexpr std::size_t kShownBytesMax = 200;
constexpr std::chrono::seconds kConnectSilenceMost{30};

}  // namespace

HttpDestination::HttpDestination(std::shared_ptr<Session> session,
                                 std::shared_ptr<Connection> connection, Requests requests)
    : from_host(kBufferBytesMax),
      session_(std::move(session)),
      connection_(std::move(connection)),
      requests_(requests),
      host_(connection_->host) {}

std::string HttpDestination::admit(const std::optional<Target>& target, std::string_view method) {
  if (!target) {
    std::string reason = "the request does not say which host it is for, or says it twice";
    session_->refuse(host_, connection_->port, reason);
    return reason;
  }
  const AskedFor asked(method, target->path);
  const bool as_proxy = requests_ == Requests::kOfProxy;
  if (!as_proxy && !host_.empty() && target->host != host_) {
    std::string reason = "the client asks this host for another one: " + target->host;
    session_->refuse(host_, connection_->port, reason, asked);
    return reason;
  }
  const std::uint16_t port = as_proxy ? target->port : connection_->port;
  if (!session_->allows(target->host, port)) {
    const Refused why = Session::not_allowed(target->host, port);
    session_->refuse(target->host, port, why, asked);
    return target->host + ":" + std::to_string(port) + " is " + session_->words_of(why);
  }
  const bool is_same = connection_->host == target->host && connection_->port == port;
  if (is_open_ && requests_ != Requests::kAtOnce &&
      !(is_same && connection_->has_quiet_upstream())) {
    end();
  }
  connection_->host = target->host;
  connection_->port = port;
  if (session_->allows_request(*connection_, method, target->path)) return "";
  Refused why = Session::not_allowed(target->host, port);
  why.reason = std::string(method) + " " + target->path.substr(0, kShownBytesMax) +
               " of this host is " + why.reason;
  why.host_is_allowed = true;
  session_->refuse(target->host, port, why, asked);
  return session_->words_of(why);
}

Task<std::string> HttpDestination::open() {
  if (is_open_) co_return "";
  connection_->allow_silence(kConnectSilenceMost);
  std::string reason = co_await session_->open(*connection_);
  is_open_ = reason.empty();
  if (is_open_ && connection_->client.is_secure()) {
    reason = co_await session_->secure_upstream(*connection_);
    if (!reason.empty()) end();
  }
  co_return reason;
}

void HttpDestination::end() {
  if (!is_open_) return;
  is_open_ = false;
  connection_->upstream.renew();
  from_host.clear();
  session_->tell_closed(*connection_);
}

std::string HttpDestination::shown() const {
  const bool is_usual =
      connection_->port == (connection_->client.is_secure() ? kHttpsPort : kHttpPort);
  return connection_->host + (is_usual ? "" : ":" + std::to_string(connection_->port));
}

}  // namespace sandbox::egress
