#include "sandbox/egress/proxy.h"

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/write.hpp>

#include "base/text.h"
#include "sandbox/egress/http_relay.h"
#include "sandbox/egress/inside.h"
#include "sandbox/egress/session.h"
#include "sandbox/egress/tls_name.h"

namespace sandbox::egress {
namespace {

struct Authority {
  std::string host;
  std::uint16_t port = 0;
};

// Reads the target of a CONNECT. Returns nothing unless it has both a host and a port.
std::optional<Authority> authority_of(std::string_view target) {
  const std::size_t colon = target.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto host = canonical_host(target.substr(0, colon));
  const auto port = base::number_of<std::uint16_t>(target.substr(colon + 1));
  if (!host.ok() || !port || *port == 0) return std::nullopt;
  return Authority{std::move(host).value(), *port};
}

}  // namespace

Task<void> serve_proxy(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection) {
  boost::beast::flat_buffer buffer(kBufferBytesMax);
  auto head = std::make_unique<HeadParser>();
  if (!co_await read_head(*connection, buffer, *head)) co_return connection->close();
  if (head->get().method() != boost::beast::http::verb::connect) {
    co_return co_await relay_http(session, connection, std::move(buffer), std::move(head));
  }
  const auto refuse = [&](unsigned status, const std::string& reason) -> Task<void> {
    co_await answer_http(*connection, status, reason);
    connection->close();
  };
  const auto target = head->get().target();
  const auto authority = authority_of({target.data(), target.size()});
  if (!authority) {
    const std::string reason = "a host is asked for by its name and port";
    session->refuse(std::string(target.substr(0, 255)), 0, reason);
    co_return co_await refuse(403, reason);
  }
  connection->host = authority->host;
  connection->port = authority->port;
  const std::string shown = authority->host + ":" + std::to_string(authority->port);
  if (!session->allows(authority->host, authority->port)) {
    const Refused why = Session::not_allowed(authority->host, authority->port);
    session->refuse(authority->host, authority->port, why);
    co_return co_await refuse(403, shown + " is " + session->words_of(why));
  }
  const bool is_inside =
      authority->port == kHttpPort || session->looks_into(authority->host, authority->port);
  std::string reason;
  if (!is_inside) reason = co_await session->open(*connection);
  if (!reason.empty()) co_return co_await refuse(502, shown + ": " + reason);
  constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";
  error_code failure;
  co_await asio::async_write(connection->client, asio::buffer(kEstablished), into(failure));
  if (failure) co_return connection->close();
  const auto left = buffer.cdata();
  std::string first(static_cast<const char*>(left.data()), left.size());
  if (is_inside) co_return co_await serve_inside(session, connection, std::move(first));
  if (authority->port == kHttpsPort) {
    const TlsName asked = co_await read_tls_name(*connection, first);
    if (asked.host != connection->host) {
      session->refuse(connection->host, connection->port, why_not(asked));
      session->tell_closed(*connection);
      co_return connection->close();
    }
  }
  session->join(connection, std::move(first));
}

}  // namespace sandbox::egress
