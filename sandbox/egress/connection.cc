#include "sandbox/egress/connection.h"

#include <array>
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
      rest = {};
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
