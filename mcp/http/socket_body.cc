#include "mcp/http/socket_body.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "mcp/http/status.h"

namespace mcp::http {
namespace {

using std::chrono::milliseconds;

}  // namespace

SocketBody::~SocketBody() { host_.release_body(kept_); }

std::size_t SocketBody::fail(int status) {
  failure_ = status;
  return 0;
}

std::size_t SocketBody::read(char* bytes, std::size_t size) {
  const std::size_t early = link_.take_body(bytes, size);
  if (early > 0) return early;
  while (true) {
    const ssize_t got = ::recv(link_.fd(), bytes, size, MSG_DONTWAIT);
    if (got > 0) {
      read_ += static_cast<std::size_t>(got);
      return static_cast<std::size_t>(got);
    }
    if (got == 0) return fail(kBadRequest);
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return fail(kBadRequest);
    if (!wait(POLLIN)) return 0;
  }
}

// Only so many threads may wait long for bodies, be it a little for each byte: a request that has
// come whole is always served.
bool SocketBody::wait(short events) {
  const Bounds& bounds = host_.bounds();
  const auto earned = milliseconds(1000 * read_ / bounds.body_bytes_per_second);
  const auto late = std::chrono::duration_cast<milliseconds>(Link::Clock::now() - begun_ - earned);
  const auto left = bounds.body_patience - std::max(late, milliseconds(0));
  if (left <= milliseconds(0)) return fail(kRequestTimeout) != 0;
  if (late < bounds.slow_after && poll_for(events, bounds.slow_after)) return true;
  if (!host_.begin_slow_body()) return fail(kUnavailable) != 0;
  const bool ready = poll_for(events, left);
  host_.end_slow_body();
  return ready || fail(kRequestTimeout) != 0;
}

bool SocketBody::poll_for(short events, std::chrono::milliseconds patience) const {
  pollfd entry{link_.fd(), events, 0};
  const int ready = ::poll(&entry, 1, static_cast<int>(patience.count()));
  return ready > 0 || (ready < 0 && errno == EINTR);
}

void SocketBody::write_now(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(link_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR && ((errno != EAGAIN && errno != EWOULDBLOCK) || !wait(POLLOUT))) {
      return;
    }
  }
}

bool SocketBody::keep(std::size_t bytes) {
  body_ += bytes;
  const std::size_t small = host_.bounds().small_body;
  if (body_ <= small) return true;
  const std::size_t counted = std::min(bytes, body_ - small);
  if (!host_.reserve_body(counted)) return fail(kUnavailable) != 0;
  kept_ += counted;
  return true;
}

}  // namespace mcp::http
