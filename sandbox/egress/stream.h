// A Stream is one side of a connection: bytes as they are, or within TLS from some moment on. It is
// an AsyncStream in the words of Boost.Beast.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "sandbox/egress/asio.h"

namespace sandbox::egress {

class Stream {
 public:
  using executor_type = Socket::executor_type;

  explicit Stream(asio::io_context& context) : socket_(context) {}
  explicit Stream(Socket socket) : socket_(std::move(socket)) {}

  executor_type get_executor() { return socket_.get_executor(); }
  Socket& socket() { return socket_; }
  [[nodiscard]] bool is_open() const { return socket_.is_open(); }
  [[nodiscard]] bool is_secure() const { return tls_ != nullptr; }
  [[nodiscard]] bool speaks_http2() const;  // as was agreed with TLS (RFC 7301)

  // Takes the server's part; the client's first bytes have been read.
  Task<error_code> accept_tls(asio::ssl::context& context, std::string_view first);
  // Takes the part of a client of `host`, whose certificate has to be for it; as a client of HTTP/2
  // it takes no other protocol.
  Task<error_code> connect_tls(asio::ssl::context& context, std::string host, bool for_http2);
  // Says to the other side that nothing more comes; bytes from there may.
  Task<void> end();
  void close();
  // Renews it for another connection; nothing is under way.
  void renew();

  template <typename Buffers, typename Handler>
  auto async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Handler>(handler));
    return socket_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler>
  auto async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Handler>(handler));
    return socket_.async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  Socket socket_;
  std::unique_ptr<asio::ssl::stream<Socket&>> tls_;
};

}  // namespace sandbox::egress
