#include "tools/api/port_connector.h"

#include <sys/socket.h>

#include <chrono>
#include <string_view>

#include "mcp/worker_pool.h"
#include "sessions/boxes.h"
#include "sessions/session.h"
#include "tools/api/json_answer.h"

namespace tools::api {

using base::Error;
using mcp::http::FairBudget;
using mcp::http::Taken;
using ports::Inward;
using ports::Pair;
using ports::Pump;

namespace {

constexpr std::chrono::minutes kAnswerPatience{2};
constexpr std::chrono::hours kQuietPatience{1};
constexpr std::chrono::seconds kAwakeEvery{30};  // far less than after what boxes are idle

std::string_view send_at_once(int fd, std::string_view bytes) {
  const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  return bytes;
}

base::Status let_continue(int client_fd) {
  if (send_at_once(client_fd, "HTTP/1.1 100 Continue\r\n\r\n").empty()) return base::done();
  return base::error(Error::Kind::kUnavailable, "the client reads nothing");
}

Error too_many() {
  return base::error(Error::Kind::kLimit, "too many connections to ports are open: close some");
}

}  // namespace

PortConnector::~PortConnector() {
  keeper_.request_stop();
  wakeup_.notify_all();
}

void PortConnector::connect(const sessions::Session& session, const Inward& how, Taken taken,
                            const std::string& who) {
  const auto done = try_to_connect(session, how, taken, who);
  if (!done.ok()) answer(who, taken, status_of(done.error()), done.error().message);
}

// The pump gets what does not fit, and reads what the client still sends: a socket that is closed
// before that takes the answer along.
void PortConnector::answer(const std::string& who, const Taken& taken, int status,
                           const std::string& text,
                           const std::vector<std::pair<std::string, std::string>>& headers) {
  auto client = base::duplicate(taken.fd.get());
  if (!client.ok()) return;
  Pair pair;
  pair.client = std::move(client).value();
  pair.failure = send_at_once(pair.client.get(), ports::plain_answer(status, text, headers));
  if (pair.failure.empty()) (void)::shutdown(pair.client.get(), SHUT_WR);
  pair.room = FairBudget::take(answers_, who, 1);
  pair.quiet_patience = kAnswerPatience;
  const auto pump = running_pump();
  if (pair.room && pump.ok()) (void)pump.value()->add(std::move(pair));
}

base::Status PortConnector::try_to_connect(const sessions::Session& session, const Inward& how,
                                           const Taken& taken, const std::string& who) {
  const auto head = TRY(ports::head_for_server(taken.head, how));
  Pump& pump = *TRY(running_pump());
  const bool visits = who == kVisitors;
  const auto of_all =
      visits ? FairBudget::take(visits_, session.principal_id, 1) : FairBudget::take(open_, who, 1);
  const std::string port = session.id + " " + std::to_string(how.port);
  const auto of_port = FairBudget::take(visits ? of_visited_ports_ : of_ports_, port, 1);
  if (!of_all || !of_port) return too_many();
  Pair pair;
  pair.room =
      std::make_shared<const std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
          of_all, of_port);
  pair.client = TRY(base::duplicate(taken.fd.get()));
  pair.server = TRY([&] {
    const mcp::WorkerPool::Aside aside;  // a full backlog of one is no wait for others
    return services_.boxes.connect(session, how.port);
  }());
  if (head.waits_to_continue) TRY(let_continue(pair.client.get()));
  pair.to_server = head.text + taken.rest;
  pair.opening = ports::head_for_client(head.upgrades, how);
  pair.failure = ports::plain_answer(502, "what listens on port " + std::to_string(how.port) +
                                              " of the session does not answer in HTTP");
  pair.opening_patience = kAnswerPatience;
  pair.quiet_patience = kQuietPatience;
  {
    const std::lock_guard lock(mutex_);
    InUse& use = in_use_[session.id];
    if (!use.moved) use = {session, std::make_shared<std::atomic<bool>>(false)};
    pair.moved = use.moved;
  }
  return pump.add(std::move(pair));
}

base::Result<Pump*> PortConnector::running_pump() {
  const std::lock_guard lock(mutex_);
  if (!pump_) {
    pump_ = TRY(Pump::start());
    keeper_ = std::jthread([this](const std::stop_token& stop) { keep_awake(stop); });
  }
  return pump_.get();
}

void PortConnector::keep_awake(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      wakeup_.wait_for(lock, stop, kAwakeEvery, [] { return false; });
    }
    for (const auto& session : sessions_in_use()) {
      if (!stop.stop_requested()) services_.boxes.keep_awake(session);
    }
  }
}

std::vector<sessions::Session> PortConnector::sessions_in_use() {
  const std::lock_guard lock(mutex_);
  std::vector<sessions::Session> used;
  for (const auto& [id, use] : in_use_) {
    if (use.moved->exchange(false)) used.push_back(use.session);
  }
  std::erase_if(in_use_, [](const auto& entry) { return entry.second.moved.use_count() == 1; });
  return used;
}

}  // namespace tools::api
