#include "sandbox/egress/inside.h"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>

#include "sandbox/egress/http2_relay.h"
#include "sandbox/egress/http_relay.h"
#include "sandbox/egress/session.h"
#include "sandbox/egress/tls_name.h"

namespace sandbox::egress {
namespace {

constexpr char kTlsHandshake = 0x16;  // RFC 8446 5.1; no method of HTTP begins so

Task<bool> begins_with_tls(Connection& connection, const std::string& first) {
  if (!first.empty()) co_return first[0] == kTlsHandshake;
  error_code failure;
  co_await connection.client.socket().async_wait(Socket::wait_read, into(failure));
  char byte = 0;
  const int fd = connection.client.socket().native_handle();
  co_return !failure && ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && byte == kTlsHandshake;
}

boost::beast::flat_buffer buffer_of(const std::string& bytes) {
  boost::beast::flat_buffer buffer(kBufferBytesMax);
  asio::buffer_copy(buffer.prepare(bytes.size()), asio::buffer(bytes));
  buffer.commit(bytes.size());
  return buffer;
}

}  // namespace

Task<void> serve_inside(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection,
                        std::string first) {
  bool is_secure = connection->port == kHttpsPort;
  if (!is_secure && connection->port != kHttpPort) {
    is_secure = co_await begins_with_tls(*connection, first);
  }
  if (!is_secure) co_return co_await relay_http(session, connection, buffer_of(first), nullptr);
  const TlsName asked = co_await read_tls_name(*connection, first);
  if (asked.host != connection->host) {
    session->refuse(connection->host, connection->port, why_not(asked));
    co_return connection->close();
  }
  if (!co_await session->secure_client(*connection, first)) co_return connection->close();
  if (connection->client.speaks_http2()) co_return co_await relay_http2(session, connection);
  co_await relay_http(session, connection, buffer_of(""), nullptr);
}

}  // namespace sandbox::egress
