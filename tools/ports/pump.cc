#include "tools/ports/pump.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <string_view>
#include <utility>

namespace tools::ports {

using base::Error;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kHalfBytesMax = 64U << 10;
constexpr int kRounds = 16;  // before others have their turn
constexpr std::chrono::seconds kLook{1};
// For the client to see the end of what the server has said.
constexpr std::chrono::seconds kLastChance{10};
constexpr std::chrono::seconds kGonePatience{60};
constexpr std::uint64_t kWakeup = 0;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

}  // namespace

base::Result<std::unique_ptr<Pump>> Pump::start() {
  base::UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  base::UniqueFd wakeup(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeup;
  if (!epoll.valid() || !wakeup.valid() ||
      ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wakeup.get(), &event) != 0) {
    return Error::from_errno("epoll");
  }
  std::unique_ptr<Pump> pump(new Pump(std::move(epoll), std::move(wakeup)));
  pump->thread_ = std::jthread([raw = pump.get()](const std::stop_token& stop) { raw->run(stop); });
  return pump;
}

Pump::~Pump() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  (void)!::write(wakeup_.get(), &one, sizeof one);
}

base::Status Pump::add(Pair pair) {
  const std::lock_guard lock(mutex_);
  if (count_ >= kPairsMax) {
    return base::error(Error::Kind::kLimit, "too many connections to ports are open: close some");
  }
  ++count_;
  new_.push_back(std::move(pair));
  const std::uint64_t one = 1;
  (void)!::write(wakeup_.get(), &one, sizeof one);
  return base::done();
}

void Pump::run(const std::stop_token& stop) {
  std::array<epoll_event, 64> events;
  while (!stop.stop_requested()) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   static_cast<int>(milliseconds(kLook).count()));
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events.at(static_cast<std::size_t>(i));
      if (event.data.u64 == kWakeup) {
        take_new();
      } else {
        on_event(event.data.u64);
      }
    }
    if (Clock::now() - looked_at_ >= kLook) look_at_time();
    end_what_is_over();
  }
}

void Pump::take_new() {
  std::uint64_t times = 0;
  (void)!::read(wakeup_.get(), &times, sizeof times);
  std::vector<Pair> pairs;
  {
    const std::lock_guard lock(mutex_);
    pairs = std::exchange(new_, {});
  }
  for (Pair& pair : pairs) {
    Entry& entry = entries_[++last_id_];
    entry.up.waiting = std::exchange(pair.to_server, {});
    entry.opened = pair.opening == nullptr;
    entry.pair = std::move(pair);
    if (!entry.pair.server.valid()) fail(entry);
    on_event(last_id_ * 2);
  }
}

void Pump::look_at_time() {
  looked_at_ = Clock::now();
  for (auto& [id, entry] : entries_) {
    const auto quiet = looked_at_ - entry.moved_at;
    // A client that sends no more mostly has gone, and only who writes to it finds out.
    const bool may_have_gone = entry.up.told && entry.pair.opening != nullptr;
    const auto patience = may_have_gone ? std::min(entry.pair.quiet_patience, kGonePatience)
                                        : entry.pair.quiet_patience;
    if (entry.opened && quiet > patience) {
      entry.ends_at = Clock::time_point::min();
    } else if (!entry.opened && quiet > entry.pair.opening_patience) {
      fail(entry);
      on_event(id * 2);
    }
  }
}

void Pump::end_what_is_over() {
  const auto now = Clock::now();
  const std::size_t ended =
      std::erase_if(entries_, [now](const auto& entry) { return entry.second.ends_at <= now; });
  if (ended == 0) return;
  const std::lock_guard lock(mutex_);
  count_ -= ended;
}

// Handles an event. Its key is twice the id for the client's socket, and one more for the server's.
void Pump::on_event(std::uint64_t key) {
  const auto found = entries_.find(key / 2);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  bool goes_on = false;
  try {
    goes_on = move(entry) && watch(key / 2, entry);
  } catch (const std::exception&) {
    // No memory is left: the pair ends and gives back what it holds, and no other pair hears of it.
  }
  if (!goes_on) entry.ends_at = Clock::time_point::min();
}

bool Pump::move(Entry& entry) {
  const int client = entry.pair.client.get();
  const int server = entry.pair.server.get();
  bool goes_on = true;
  for (int round = 0; round < kRounds && goes_on; ++round) {
    goes_on = read(client, entry.up);
    // A server that takes no more may have said why: what it has said still counts.
    if (!write(server, entry.up)) entry.up.dropped = true;
    if (entry.up.dropped) entry.up.waiting.clear(), entry.up.written = 0;
    goes_on = read(server, entry.down) || goes_on;
    open(entry);
    if (entry.opened && !write(client, entry.down)) return false;
  }
  const std::uint64_t moved = entry.up.moved_bytes + entry.down.moved_bytes;
  if (std::exchange(entry.moved_bytes, moved) != moved) {
    entry.moved_at = Clock::now();
    if (entry.pair.moved) entry.pair.moved->store(true);
  }
  if (!entry.down.told) return true;
  if (entry.up.told || (entry.up.ended && entry.up.dropped)) return false;
  // A server whose words are not HTTP's may still listen when it has said all.
  const bool nobody_listens = entry.up.dropped || entry.pair.opening != nullptr;
  if (nobody_listens && entry.ends_at == Clock::time_point::max()) {
    entry.ends_at = Clock::now() + kLastChance;
  }
  return true;
}

// Only what can be given on is taken. False: there is nothing.
bool Pump::read(int fd, Half& half) {
  if (half.ended || half.waiting.size() - half.written >= kHalfBytesMax) return false;
  static thread_local std::array<char, kHalfBytesMax> buffer;
  const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) {
    half.waiting.erase(0, std::exchange(half.written, 0));
    half.waiting.append(buffer.data(), static_cast<std::size_t>(got));
    half.moved_bytes += static_cast<std::size_t>(got);
    return true;
  }
  const bool may_come = got < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN);
  half.ended = !may_come;
  return false;
}

// False: it takes no more, ever.
bool Pump::write(int fd, Half& half) {
  while (!half.is_empty()) {
    const ssize_t sent = ::send(fd, half.waiting.data() + half.written,
                                half.waiting.size() - half.written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == ENOTCONN;
    half.written += static_cast<std::size_t>(sent);
    half.moved_bytes += static_cast<std::size_t>(sent);
  }
  half.waiting.clear();
  half.written = 0;
  if (half.ended && !half.told) {
    (void)::shutdown(fd, SHUT_WR);
    half.told = true;
  }
  return true;
}

// At its first line, which tells what speaks; and when a head has come whole.
bool Pump::has_to_be_looked_at(Entry& entry) {
  const std::string& come = entry.down.waiting;
  const std::size_t before = std::min(entry.looked_at_bytes, come.size());
  const bool has_line = come.find('\n') < come.size() && come.find('\n') >= before;
  const bool has_head =
      come.find(kHeadEnd, before - std::min(before, kHeadEnd.size() - 1)) != std::string::npos;
  entry.looked_at_bytes = come.size();
  return has_line || has_head;
}

void Pump::fail(Entry& entry) {
  entry.down.waiting = entry.pair.failure;
  entry.down.written = 0;
  entry.down.ended = entry.opened = entry.up.dropped = true;
}

void Pump::open(Entry& entry) {
  if (entry.opened) return;
  const bool is_all = entry.down.ended || entry.down.waiting.size() >= kHalfBytesMax;
  if (!has_to_be_looked_at(entry)) return is_all ? fail(entry) : void();
  auto opened = [&entry]() -> base::Result<std::optional<std::string>> {
    try {
      return entry.pair.opening(entry.down.waiting);
    } catch (const std::exception& failure) {
      // A library fails at what a server says: this ends this pair and no other.
      return base::error(Error::Kind::kInvalid, failure.what());
    }
  }();
  if (opened.ok() && opened.value()) {
    entry.down.waiting.insert(0, *opened.value());
    entry.opened = true;
  } else if (!opened.ok() || is_all) {
    fail(entry);
  }
  entry.looked_at_bytes = entry.down.waiting.size();
}

bool Pump::watch(std::uint64_t id, Entry& entry) {
  const auto wanted = [](const Half& from, const Half& to, bool may_write) {
    std::uint32_t events = 0;
    if (!from.ended && from.waiting.size() - from.written < kHalfBytesMax) events |= EPOLLIN;
    if (may_write && !to.is_empty()) events |= EPOLLOUT;
    return events;
  };
  return watch(id * 2, entry.pair.client.get(), wanted(entry.up, entry.down, entry.opened),
               entry.client_events) &&
         watch(id * 2 + 1, entry.pair.server.get(), wanted(entry.down, entry.up, true),
               entry.server_events);
}

// Sets the events that are waited for. A socket from which nothing is wanted is taken out, since
// its end would be an event for ever.
bool Pump::watch(std::uint64_t key, int fd, std::uint32_t wanted, std::uint32_t& events) const {
  if (events == wanted) return true;
  epoll_event event{};
  event.events = wanted;
  event.data.u64 = key;
  int how = events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (wanted == 0) how = EPOLL_CTL_DEL;
  events = wanted;
  return ::epoll_ctl(epoll_.get(), how, fd, &event) == 0;
}

}  // namespace tools::ports
