#include "sandbox/box/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/unix_socket.h"

namespace sandbox::box {

using nlohmann::json;

Connection::Connection(EventLoop& loop, base::UniqueFd socket, Events events)
    : loop_(loop), socket_(std::move(socket)), events_(std::move(events)) {}

Connection::~Connection() {
  if (socket_.valid()) loop_.forget(socket_.get());
}

base::Status Connection::start() {
  TRY(base::set_nonblocking(socket_.get()));
  return loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t events) { on_event(events); });
}

void Connection::on_event(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read();
}

void Connection::read() {
  static char buffer[64 * 1024];  // one thread
  if (!socket_.valid()) return;
  const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return close();
  decoder_.feed({buffer, static_cast<std::size_t>(got)});
  while (socket_.valid()) {
    auto frame = decoder_.next();
    if (!frame.ok()) return close();
    if (!frame.value()) return;
    const auto request = base::parse_json(frame.value()->payload);
    if (!request.ok() || !request.value().is_object()) return close();
    events_.request(request.value());
  }
}

void Connection::reply(const json& message) {
  unsent_ += wire::encode_frame('J', base::print_json(message));
  flush();
}

void Connection::flush() {
  while (socket_.valid() && !unsent_.empty()) {
    const ssize_t sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) break;
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
  if (!socket_.valid()) return;
  (void)loop_.change(socket_.get(), unsent_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void Connection::send_fd(int fd) {
  if (!socket_.valid()) return;
  const bool sent =
      base::write_all(socket_.get(), unsent_).ok() && base::send_descriptor(socket_.get(), fd).ok();
  unsent_.clear();
  if (!sent) close();
}

void Connection::close() {
  if (!socket_.valid()) return;
  loop_.forget(socket_.get());
  socket_.reset();
  events_.closed();
}

}  // namespace sandbox::box
