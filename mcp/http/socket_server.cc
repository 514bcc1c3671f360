#include "mcp/http/socket_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "mcp/http/head_filter.h"
#include "mcp/http/library.h"
#include "mcp/http/request_id.h"
#include "mcp/http/socket_body.h"
#include "mcp/http/status.h"

namespace mcp::http {
namespace {

// Connections are counted from 1.
constexpr std::uint64_t kListenId = 0;
constexpr std::uint64_t kWakeId = std::numeric_limits<std::uint64_t>::max();
constexpr int kPollMs = 500;
constexpr std::chrono::milliseconds kLookAtTime{500};
constexpr std::size_t kAcceptMax = 64;  // before others are looked after
constexpr int kDrainRounds = SOMAXCONN / static_cast<int>(kAcceptMax);
constexpr std::chrono::milliseconds kReadPause{5};
constexpr std::size_t kMakeRoom = 64;  // idle connections that are ended at once when all are taken
constexpr std::size_t kMakeRoomByForce = 8;  // connections in use that are ended then

std::string peer_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    (void)::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    (void)::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  } else {
    return "unix";
  }
  return text.data();
}

void watch(int epoll_fd, int fd, std::uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

// Others find threads and places in the queue, too, whoever takes more than its part.
WorkerPool::Share share_of(const Bounds& bounds) {
  const std::size_t queue_of_unknown = bounds.queue - bounds.queue / 4;
  WorkerPool::Share share{bounds.threads - bounds.threads / 8,
                          std::min(bounds.queue_each, queue_of_unknown), WorkerPool::kNoMaximum,
                          bounds.at_work_beside_others_each};
  // They may be many: all whose requests a proxy passes on.
  share.queue_max_of_unknown = queue_of_unknown;
  return share;
}

base::UniqueFd make_wakeup() {
  base::UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (fd.get() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return fd;
}

base::UniqueFd make_epoll() {
  base::UniqueFd fd(::epoll_create1(EPOLL_CLOEXEC));
  if (fd.get() < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return fd;
}

}  // namespace

SocketServer::SocketServer(int listen_fd, Handler& handler, const Bounds& bounds)
    : listen_fd_(listen_fd),
      handler_(handler),
      bounds_(bounds),
      epoll_(make_epoll()),
      wakeup_(make_wakeup()),
      escape_percent_(library_decodes_header_values()),
      output_bytes_(bounds.waiting_bytes),
      bodies_(bounds),
      pool_(bounds.threads, bounds.queue, share_of(bounds)) {
  watch(epoll_.get(), listen_fd_, kListenId);
  watch(epoll_.get(), wakeup_.get(), kWakeId);
  thread_ = std::jthread([this](const std::stop_token& stop) { poll_events(stop); });
}

void SocketServer::stop() {
  if (!thread_.joinable()) return;
  draining_ = true;
  thread_.request_stop();
  const std::uint64_t one = 1;
  (void)!::write(wakeup_.get(), &one, sizeof one);
  thread_.join();
  for (const auto& link : all()) link->end();
  while (!pool_.wait_until_idle(std::chrono::seconds(1))) {
  }
  for (const auto& link : all()) link->end();
}

void SocketServer::drain() {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listen_fd_, nullptr);
  // Who has connected already is answered: what waits in a socket that closes is reset.
  for (int round = 0; round < kDrainRounds && accept_some(); ++round) {
  }
  draining_ = true;
  (void)::shutdown(listen_fd_, SHUT_RDWR);  // who connects now is refused
  for (const auto& link : all()) (void)link->end_if_idle();
}

void SocketServer::wait_until_read(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  const auto unread = [this] {
    const auto links = all();
    return std::any_of(links.begin(), links.end(),
                       [](const auto& link) { return link->is_asked(); });
  };
  while (unread() && Clock::now() < deadline) std::this_thread::sleep_for(kReadPause);
}

bool SocketServer::wait_until_idle(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, patience, [this] { return links_.empty(); });
}

std::size_t SocketServer::connections() const {
  const std::lock_guard lock(mutex_);
  return links_.size();
}

void SocketServer::poll_events(const std::stop_token& stop) {
  std::array<epoll_event, 256> events{};
  auto looked = Clock::now();
  while (!stop.stop_requested()) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), kPollMs);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 == kListenId && draining_) {
        (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listen_fd_, nullptr);
      } else if (event.data.u64 == kListenId) {
        (void)accept_some();
      } else if (const auto link = find(event.data.u64)) {
        link->on_event(event.events);
      }
    }
    if (Clock::now() - looked >= kLookAtTime) {
      look_at_time();
      looked = Clock::now();
    }
  }
}

void SocketServer::look_at_time() {
  const auto now = Clock::now();
  if (paused_ && !draining_) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kListenId;
    paused_ = ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listen_fd_, &event) != 0;
  }
  for (const auto& link : all()) {
    link->on_time(now);
    if (draining_) (void)link->end_if_idle();  // it became so since `drain`
  }
}

bool SocketServer::accept_some() {
  for (std::size_t accepted = 0; accepted < kAcceptMax; ++accepted) {
    if (draining_) return false;
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    const int fd = ::accept4(listen_fd_, reinterpret_cast<sockaddr*>(&address), &length,
                             SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && make_room()) continue;
    if (fd < 0) {
      // Without this the listening socket would call again at once, and for ever.
      if (errno == EMFILE || errno == ENFILE) pause_accepting();
      return false;
    }
    const int on = 1;
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (connections() >= bounds_.connections && !make_room()) {
      ::close(fd);
      ++refused_;
    } else {
      add(fd, peer_of(address));
    }
  }
  return true;
}

void SocketServer::pause_accepting() {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listen_fd_, nullptr);
  paused_ = true;
}

// Ends connections to make room, the oldest first: idle ones; where there are none, those whose
// request has not come whole; else those of who has more than an equal part. False: none could be
// ended.
bool SocketServer::make_room() {
  std::size_t ended = 0;
  const auto end_some = [&ended](const auto& links, std::size_t most, auto end_one) {
    for (const auto& link : links) {
      if (ended >= most) break;
      ended += end_one(*link) ? 1 : 0;
    }
  };
  const auto links = all();
  end_some(links, kMakeRoom, [](Link& link) { return link.end_if_idle(); });
  if (ended == 0) {
    end_some(links, kMakeRoom, [](Link& link) { return link.end_if_half_asked(); });
  }
  if (ended == 0) {
    end_some(of_who_has_most(), kMakeRoomByForce, [](Link& link) { return link.end(), true; });
  }
  return ended > 0;
}

// Returns the connections of who has most; none when nobody has more than an equal part.
std::vector<std::shared_ptr<Link>> SocketServer::of_who_has_most() const {
  std::map<std::string, std::vector<std::shared_ptr<Link>>> by_owner;
  for (const auto& link : all()) by_owner[link->owner()].push_back(link);
  if (by_owner.empty()) return {};
  auto& most = std::max_element(by_owner.begin(), by_owner.end(), [](const auto& a, const auto& b) {
                 return a.second.size() < b.second.size();
               })->second;
  // Who comes now may be another one.
  if (most.size() <= bounds_.connections / (by_owner.size() + 1)) return {};
  return most;
}

void SocketServer::add(int fd, std::string peer) {
  std::shared_ptr<Link> link;
  {
    const std::lock_guard lock(mutex_);
    LinkHost& host = *this;
    link = std::make_shared<Link>(host, fd, ++last_id_, std::move(peer));
    links_.emplace(link->id(), link);
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u64 = link->id();
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) link->end();
}

std::shared_ptr<Link> SocketServer::find(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Link>> SocketServer::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Link>> links;
  links.reserve(links_.size());
  for (const auto& [id, link] : links_) links.push_back(link);
  return links;
}

void SocketServer::arm(const Link& link, std::uint32_t events) {
  epoll_event event{};
  event.events = events | EPOLLONESHOT;
  event.data.u64 = link.id();
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, link.fd(), &event);
}

void SocketServer::forget(const Link& link) {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, link.fd(), nullptr);
  const std::lock_guard lock(mutex_);
  links_.erase(link.id());
  if (links_.empty()) idle_.notify_all();
}

// A log may be slow, and others wait for this thread.
void SocketServer::refused(const Link& link, int status, const std::string& request_id) {
  Request request;
  request.id = request_id;
  request.begun = Clock::now();
  request.peer = link.peer();
  run(link.asker_of_unknown(),
      [this, request = std::move(request), status] { handler_.answered(request, status, false); });
}

void SocketServer::run(const std::string& asker, std::function<void()> work) {
  if (!pool_.run(asker, work)) work();
}

bool SocketServer::reserve_output(const std::string& owner, std::size_t bytes) {
  // Readers that take all the room must not keep others from their small answers.
  if (bytes > bounds_.small_output) return output_bytes_.add_if_fair(owner, bytes);
  output_bytes_.add(owner, bytes);
  return true;
}

bool SocketServer::serve(std::shared_ptr<Link> link, const std::string& asker) {
  return pool_.run(asker, [this, link = std::move(link), begun = Clock::now()] {
    answer(link, link->take_head(), begun);
  });
}

void SocketServer::answer(const std::shared_ptr<Link>& link, std::string head,
                          Clock::time_point begun) {
  const FilteredHead filtered = filter_head(head, bounds_, escape_percent_);
  Request request;
  request.id = make_request_id();
  request.begun = begun;
  request.peer = link->peer();
  request.range = filtered.range;
  if (filtered.refusal != 0) {
    handler_.answered(request, filtered.refusal, false);
    return link->refuse(filtered.refusal, request.id);
  }
  const auto gone = std::make_shared<std::stop_source>();
  request.gone = gone->get_token();
  SocketBody body(*this, *link);
  Answer answer = answer_request(filtered.text, std::move(request), body, handler_, bounds_);
  if (answer.put_off) {
    // Asked in their turn: by then the link knows whose it is.
    const bool waits = pool_.run(link->owner(), [this, link, head, begun]() mutable {
      this->answer(link, std::move(head), begun);
    });
    if (waits) return;
    return link->finish(
        refuse_request(filtered.text, *std::move(answer.put_off), handler_, bounds_));
  }
  if (answer.take_over) return link->give_away(head, answer.take_over);
  if (!answer.later) return link->finish(std::move(answer));
  link->wait_for_answer([gone] { (void)gone->request_stop(); });
  answer.later([link](Answer later) { link->finish(std::move(later)); });
}

}  // namespace mcp::http
