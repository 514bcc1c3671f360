#include "sandbox/egress/stream.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>

namespace sandbox::egress {

Task<error_code> Stream::accept_tls(asio::ssl::context& context, std::string_view first) {
  using Tls = asio::ssl::stream<Socket&>;
  tls_ = std::make_unique<Tls>(socket_, context);
  error_code failure;
  const std::string bytes(first);
  const std::size_t used =
      co_await tls_->async_handshake(Tls::server, asio::buffer(bytes), into(failure));
  // Nothing of the client's can follow its first message before it has our answer.
  if (!failure && used != bytes.size()) failure = asio::error::invalid_argument;
  co_return failure;
}

Task<error_code> Stream::connect_tls(asio::ssl::context& context, std::string host,
                                     bool for_http2) {
  using Tls = asio::ssl::stream<Socket&>;
  tls_ = std::make_unique<Tls>(socket_, context);
  error_code failure;
  if (SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str()) != 1) {
    co_return asio::error::invalid_argument;
  }
  static constexpr unsigned char kHttp2[] = "\x02h2";
  if (for_http2 && SSL_set_alpn_protos(tls_->native_handle(), kHttp2, sizeof kHttp2 - 1) != 0) {
    co_return asio::error::invalid_argument;
  }
  tls_->set_verify_mode(asio::ssl::verify_peer, failure);
  tls_->set_verify_callback(asio::ssl::host_name_verification(host), failure);
  if (failure) co_return failure;
  co_await tls_->async_handshake(Tls::client, into(failure));
  if (!failure && for_http2 && !speaks_http2()) failure = asio::error::no_protocol_option;
  co_return failure;
}

bool Stream::speaks_http2() const {
  if (!tls_) return false;
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(tls_->native_handle(), &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

Task<void> Stream::end() {
  error_code unused;
  // Waits for the same of the other side, for as long as the connection's deadline lets it.
  if (tls_) co_await tls_->async_shutdown(into(unused));
  socket_.shutdown(Socket::shutdown_send, unused);
}

void Stream::close() {
  error_code unused;
  socket_.close(unused);
}

void Stream::renew() {
  close();
  tls_.reset();
}

}  // namespace sandbox::egress
