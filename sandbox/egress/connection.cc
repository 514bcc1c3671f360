#include "sandbox/egress/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>

namespace sandbox::egress {
namespace {

constexpr std::size_t kPartBytes = 256 * 1024;
constexpr std::size_t kSecurePartBytes = 16 * 1024;
constexpr std::chrono::seconds kClientLook{1};
constexpr std::chrono::seconds kEndPatience{3};

// All connections share this for bytes that are read and written at once: one without bytes on
// their way holds no memory for them. There is one thread.
std::array<char, kPartBytes>& scratch() {
  static std::array<char, kPartBytes> bytes;
  return bytes;
}

// As much as the socket takes now.
std::size_t write_now(Socket& socket, std::string_view bytes, error_code& failure) {
  const std::size_t written = socket.write_some(asio::buffer(bytes.data(), bytes.size()), failure);
  if (failure == asio::error::would_block) failure.clear();
  return failure ? 0 : written;
}

enum class Ahead { kBytes, kNothing, kEnd };

// Looks at what a read would find, without taking it.
Ahead look_ahead(Socket& socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0) return Ahead::kBytes;
  return got < 0 && errno == EAGAIN ? Ahead::kNothing : Ahead::kEnd;
}

}  // namespace

Connection::Connection(asio::io_context& context, Socket accepted,
                       const std::shared_ptr<Meter>& meter)
    : client(std::move(accepted)),
      upstream(context),
      sent(meter),
      received(meter),
      timer_(context) {
  error_code unused;
  client.socket().set_option(asio::ip::tcp::no_delay(true), unused);
}

void Connection::allow_silence(std::chrono::seconds most) {
  const bool runs = silence_most_.count() != 0;
  const bool sooner = most < silence_most_;
  silence_most_ = most;
  last_byte_ = Clock::now();
  if (!runs || sooner) look_later(last_byte_ + most);
}

// One timer goes round, instead of one being set with each byte.
void Connection::look_later(Clock::time_point when) {
  timer_.expires_at(when);
  timer_.async_wait([weak = weak_from_this()](error_code failure) {
    const auto self = weak.lock();
    if (failure || !self) return;
    const auto due = self->last_byte_ + self->silence_most_;
    if (due <= Clock::now()) return self->close();
    if (!self->is_watched_) return self->look_later(due);
    if (!self->has_client()) return self->close();
    self->look_later(std::min(due, Clock::now() + kClientLook));
  });
}

void Connection::close() {
  timer_.cancel();
  client.close();
  upstream.close();
}

Task<void> Connection::end_client() {
  allow_silence(kEndPatience);
  co_await client.end();
}

// Bytes of it may wait to be read all the same. tcp(7)
bool Connection::has_client() {
  tcp_info info{};
  socklen_t size = sizeof info;
  const int fd = client.socket().native_handle();
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  return info.tcpi_state == TCP_ESTABLISHED;
}

bool Connection::has_quiet_upstream() { return look_ahead(upstream.socket()) == Ahead::kNothing; }

void Connection::watch_client() {
  is_watched_ = true;
  look_later(Clock::now() + kClientLook);
}

void Connection::join(std::string first, std::function<void()> ended) {
  error_code unused;
  client.socket().non_blocking(true, unused);
  upstream.socket().non_blocking(true, unused);
  ended_ = std::move(ended);
  directions_ = 2;
  const auto go = [this](Stream& from, Stream& to, ByteCount& bytes, std::string before) {
    const bool is_secure = client.is_secure() || upstream.is_secure();
    asio::co_spawn(client.get_executor(),
                   is_secure ? carry_secure(from, to, bytes, std::move(before))
                             : carry(from, to, bytes, std::move(before)),
                   [self = shared_from_this()](const std::exception_ptr& failure) {
                     if (failure) self->close();
                     if (--self->directions_ > 0) return;
                     self->close();
                     std::exchange(self->ended_, {})();
                   });
  };
  go(client, upstream, sent, std::move(first));
  go(upstream, client, received, "");
}

Task<void> Connection::carry_secure(Stream& from, Stream& to, ByteCount& bytes, std::string first) {
  error_code failure;
  std::string part = std::move(first);
  while (true) {
    bytes += static_cast<std::int64_t>(
        co_await asio::async_write(to, asio::buffer(part), into(failure)));
    if (failure) co_return close();
    part.resize(kSecurePartBytes);
    const std::size_t got = co_await from.async_read_some(asio::buffer(part), into(failure));
    if (failure) break;
    saw_bytes();
    part.resize(got);
  }
  if (failure != asio::error::eof) co_return close();
  co_await to.end();
}

Task<void> Connection::carry(Stream& from, Stream& to, ByteCount& bytes, std::string first) {
  error_code failure;
  std::string rest = std::move(first);
  while (true) {
    if (!rest.empty()) {
      // Some of it may have gone although the rest cannot.
      bytes += static_cast<std::int64_t>(
          co_await asio::async_write(to, asio::buffer(rest), into(failure)));
      if (failure) break;
      std::string().swap(rest);
    }
    co_await from.socket().async_wait(Socket::wait_read, into(failure));
    if (failure) break;
    const std::size_t got = from.socket().read_some(asio::buffer(scratch()), failure);
    if (failure == asio::error::would_block) continue;
    if (failure) break;
    saw_bytes();
    const std::string_view part(scratch().data(), got);
    const std::size_t written = write_now(to.socket(), part, failure);
    if (failure) break;
    bytes += static_cast<std::int64_t>(written);
    rest = part.substr(written);
  }
  // When one direction has ended in order, the other may go on.
  if (failure != asio::error::eof) co_return close();
  to.socket().shutdown(Socket::shutdown_send, failure);
}

}  // namespace sandbox::egress
