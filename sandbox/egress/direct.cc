#include "sandbox/egress/direct.h"

#include <optional>
#include <string>

#include "sandbox/egress/http_relay.h"
#include "sandbox/egress/inside.h"
#include "sandbox/egress/session.h"
#include "sandbox/egress/tls_name.h"

namespace sandbox::egress {

Task<void> serve_direct(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection) {
  const auto refuse = [&](const std::string& host, const auto& why) {
    session->refuse(host, connection->port, why);
    connection->close();
  };
  const std::optional<std::string> name = session->name_of(*connection);
  connection->host = name.value_or("");
  if (connection->port == kHttpPort) {
    co_return co_await relay_http(session, connection, boost::beast::flat_buffer(kBufferBytesMax),
                                  nullptr);
  }
  std::string first;
  if (connection->port == kHttpsPort) {
    const TlsName asked = co_await read_tls_name(*connection, first);
    if (asked.host.empty()) co_return refuse(connection->host, asked.reason);
    // Without a name of its own the address is one that an earlier door gave.
    if (!name) connection->host = asked.host;
    if (asked.host != connection->host) co_return refuse(connection->host, why_not(asked));
  }
  if (connection->host.empty()) co_return refuse("", "no name has this address");
  if (!session->allows(connection->host, connection->port)) {
    co_return refuse(connection->host, Session::not_allowed(connection->host, connection->port));
  }
  if (session->looks_into(connection->host, connection->port)) {
    co_return co_await serve_inside(session, connection, std::move(first));
  }
  const std::string reason = co_await session->open(*connection);
  if (!reason.empty()) co_return connection->close();
  session->join(connection, std::move(first));
}

}  // namespace sandbox::egress
