#include "mcp/http/socket_body.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "mcp/http/status.h"
#include "mcp/worker_pool.h"

namespace mcp::http {
namespace {

using std::chrono::milliseconds;

// How long somebody waits at most for the room of a body that has to give way.
constexpr milliseconds kLookEvery{200};

}  // namespace

SocketBody::~SocketBody() { host_.bodies().bytes.remove(owner_, kept_); }

bool SocketBody::belongs_to(const std::string& principal_id) {
  owner_ = principal_id;
  link_.belongs_to(principal_id);
  return principal_id.empty() || WorkerPool::pass_to(principal_id);
}

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
      const Bounds& bounds = host_.bounds();
      const std::chrono::nanoseconds earned(1'000'000'000 * got /
                                            static_cast<ssize_t>(bounds.body_bytes_per_second));
      deadline_ = std::min(deadline_ + earned, Link::Clock::now() + bounds.body_patience_max);
      return static_cast<std::size_t>(got);
    }
    if (got == 0) return fail(kBadRequest);
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return fail(kBadRequest);
    if (!wait(POLLIN)) return 0;
  }
}

// The time until it is this one's turn again is not the client's.
bool SocketBody::wait(short events) {
  auto came = Link::Clock::now();
  bool ready = false;
  {
    const WorkerPool::Aside aside;
    ready = wait_in_turn(events);
    came = Link::Clock::now();
  }
  const auto late = Link::Clock::now() - came;
  deadline_ += late;
  begun_ += late;
  return ready;
}

bool SocketBody::wait_in_turn(short events) {
  host_.bodies().readers.add(owner_, 1);
  const bool ready = wait_counted(events);
  host_.bodies().readers.remove(owner_, 1);
  return ready;
}

// Only so many threads may wait long for bodies, be it a little for each byte: a request that has
// come whole is always served.
bool SocketBody::wait_counted(short events) {
  const Bounds& bounds = host_.bounds();
  const auto now = Link::Clock::now();
  const auto left = std::chrono::ceil<milliseconds>(deadline_ - now);
  if (left <= milliseconds(0)) return fail(kRequestTimeout) != 0;
  if (now - begun_ >= bounds.slow_after && is_to_give_way()) return fail(kUnavailable) != 0;
  const auto late = bounds.body_patience - left;
  if (late < bounds.slow_after && poll_for(events, bounds.slow_after)) return true;
  if (!host_.bodies().slow.add_if_fair(owner_, 1)) return fail(kUnavailable) != 0;
  const bool ready = wait_long(events, std::min(left, bounds.body_patience));
  host_.bodies().slow.remove(owner_, 1);
  return ready;
}

bool SocketBody::wait_long(short events, milliseconds patience) {
  while (patience > milliseconds(0)) {
    const auto turn = std::min(patience, kLookEvery);
    if (poll_for(events, turn)) return true;
    if (is_to_give_way() || host_.bodies().slow.exceeded_by(owner_)) {
      return fail(kUnavailable) != 0;
    }
    patience -= turn;
  }
  return fail(kRequestTimeout) != 0;
}

// Others want to send, and this one's bodies take more than their part.
bool SocketBody::is_to_give_way() const {
  return host_.bodies().readers.exceeded_by(owner_) ||
         (kept_ > 0 && host_.bodies().bytes.exceeded_by(owner_));
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
  if (!host_.bodies().bytes.add_if_fair(owner_, counted)) return fail(kUnavailable) != 0;
  kept_ += counted;
  return true;
}

}  // namespace mcp::http
