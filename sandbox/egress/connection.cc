#include "sandbox/egress/connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>

namespace sandbox::egress {
namespace {

constexpr std::size_t kPartBytes = 256 * 1024;

// What was read and what is written at once lies here: a connection without bytes on their way
// holds no memory for them. There is one thread.
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

// What a read would find.
Ahead look_ahead(Socket& socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0) return Ahead::kBytes;
  return got < 0 && errno == EAGAIN ? Ahead::kNothing : Ahead::kEnd;
}

}  // namespace

Connection::Connection(asio::io_context& context, Socket accepted)
    : client(std::move(accepted)), upstream(context), timer_(context) {
  error_code unused;
  client.set_option(asio::ip::tcp::no_delay(true), unused);
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
    self->look_later(due);
  });
}

void Connection::close() {
  error_code unused;
  timer_.cancel();
  client.close(unused);
  upstream.close(unused);
}

// A client that has sent more, or would, is there.
bool Connection::has_client() { return look_ahead(client) != Ahead::kEnd; }

bool Connection::has_quiet_upstream() { return look_ahead(upstream) == Ahead::kNothing; }

void Connection::watch_client() {
  is_watched_ = true;
  client.async_wait(Socket::wait_read, [self = shared_from_this()](error_code failure) {
    if (!failure && self->is_watched_ && !self->has_client()) self->close();
  });
}

void Connection::leave_client() {
  error_code unused;
  is_watched_ = false;
  client.cancel(unused);
}

void Connection::join(std::string first, std::function<void()> ended) {
  error_code unused;
  client.non_blocking(true, unused);
  upstream.non_blocking(true, unused);
  ended_ = std::move(ended);
  directions_ = 2;
  const auto go = [this](Socket& from, Socket& to, std::int64_t& bytes, std::string before) {
    asio::co_spawn(client.get_executor(), carry(from, to, bytes, std::move(before)),
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

Task<void> Connection::carry(Socket& from, Socket& to, std::int64_t& bytes, std::string first) {
  error_code failure;
  std::string rest = std::move(first);
  while (true) {
    if (!rest.empty()) {
      co_await asio::async_write(to, asio::buffer(rest), into(failure));
      if (failure) break;
      bytes += static_cast<std::int64_t>(rest.size());
      std::string().swap(rest);
    }
    co_await from.async_wait(Socket::wait_read, into(failure));
    if (failure) break;
    const std::size_t got = from.read_some(asio::buffer(scratch()), failure);
    if (failure == asio::error::would_block) continue;
    if (failure) break;
    saw_bytes();
    const std::string_view part(scratch().data(), got);
    const std::size_t written = write_now(to, part, failure);
    if (failure) break;
    bytes += static_cast<std::int64_t>(written);
    rest = part.substr(written);
  }
  // Of one that has ended in order, the other direction may go on.
  if (failure != asio::error::eof) co_return close();
  to.shutdown(Socket::shutdown_send, failure);
}

}  // namespace sandbox::egress
