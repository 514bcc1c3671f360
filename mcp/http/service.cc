#include "mcp/http/service.h"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "mcp/call_rate.h"
#include "mcp/http/endpoint.h"
#include "mcp/http/keep_alive.h"
#include "mcp/http/legacy_sse.h"
#include "mcp/http/socket_server.h"
#include "mcp/http/status.h"
#include "mcp/http/streamable.h"
#include "mcp/worker_pool.h"

namespace mcp::http {
namespace {

constexpr std::chrono::seconds kExpireEvery{5};
constexpr std::chrono::milliseconds kReadPatience{500};
constexpr std::chrono::seconds kLastChance{2};  // for readers to take the end of their answers
constexpr std::size_t kOpenMessagesBytes = 512U << 20;
constexpr std::size_t kLogsBytes = 256U << 20;
constexpr std::size_t kOtherDescriptors = 256;  // database, boxes, logs

// A connection is a descriptor: as many as the system gives.
void raise_descriptors(Bounds& bounds) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) (void)::getrlimit(RLIMIT_NOFILE, &limit);
  }
  const std::size_t own = std::max<std::size_t>(limit.rlim_cur / 4, kOtherDescriptors);
  bounds.connections = std::min<std::size_t>(
      bounds.connections, limit.rlim_cur > own ? limit.rlim_cur - own : kOtherDescriptors);
}

Response text(int status, std::string body) {
  Response response;
  response.status = status;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = std::move(body);
  return response;
}

class RunningService final : public Service {
 public:
  RunningService(const Server& server, ServeOptions options, Listener listener)
      : options_(std::move(options)),
        listener_(std::move(listener)),
        rate_(options_.calls_per_minute_each, options_.unbounded_principal),
        calls_(options_.call_threads, options_.call_queue,
               {options_.call_threads_each, options_.call_queue_each, options_.calls_at_work_each,
                options_.calls_at_work_beside_others_each},
               options_.unbounded_principal),
        streamable_(parts(server)),
        legacy_sse_(parts(server)),
        endpoint_({options_.door, options_.may_ask, run_call(), too_often(), open_messages_,
                   options_.on_access},
                  routes()),
        sockets_(listener_.fd(), endpoint_, options_.bounds),
        clock_([this](const std::stop_token& stop) { look_after_streams(stop); }) {}

  ~RunningService() override {
    // The calls end before what they use.
    streamable_.sessions().remove_all();
    legacy_sse_.sessions().remove_all();
    sockets_.stop();
    while (!calls_.wait_until_idle(std::chrono::seconds(1))) {
    }
  }

  [[nodiscard]] std::string name() const override { return listener_.name(); }
  [[nodiscard]] int port() const override { return listener_.address().port; }
  void drain() override;
  void change_names(DoorNames names) override { endpoint_.change_names(std::move(names)); }

 private:
  TransportParts parts(const Server& server) {
    return {.server = server,
            .run = run_call(),
            .too_often = too_often(),
            .authorize = options_.authorize,
            .keep_alive = keep_alive_,
            .session_limits = options_.sessions,
            .open_messages = open_messages_,
            .logs = logs_,
            .session_ended = options_.on_session_end,
            .json_patience = options_.json_patience,
            .polled_tools = options_.polled_tools};
  }
  std::function<bool(const std::string&, std::function<void()>)> run_call() {
    return [this](const std::string& principal_id, std::function<void()> work) {
      return calls_.run(principal_id, std::move(work));
    };
  }
  std::function<std::optional<int>(const std::string&)> too_often() {
    return [this](const std::string& principal_id) { return rate_.take(principal_id); };
  }
  std::vector<Route> routes();
  Response say_readiness();
  std::string print_metrics();
  void look_after_streams(const std::stop_token& stop);

  const ServeOptions options_;
  const Listener listener_;
  KeepAlive keep_alive_;
  const std::shared_ptr<FairBudget> open_messages_ =
      std::make_shared<FairBudget>(kOpenMessagesBytes);
  const std::shared_ptr<Budget> logs_ = std::make_shared<Budget>(kLogsBytes);
  std::atomic<bool> draining_ = false;
  CallRate rate_;
  WorkerPool calls_;
  Streamable streamable_;
  LegacySse legacy_sse_;
  Endpoint endpoint_;
  SocketServer sockets_;
  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  std::jthread clock_;
};

std::vector<Route> RunningService::routes() {
  std::vector<Route> routes = options_.routes;
  using Access = Route::Access;
  // These routes let any token in: `authorize` says message by message what it may do.
  const auto add = [&](const char* method, const char* path, Access access,
                       std::function<Response(const Request&)> answer) {
    routes.push_back({method, path, access, std::move(answer)});
  };
  add("", "/mcp", Access::kReads,
      [this](const Request& request) { return streamable_.answer(request); });
  add("GET", LegacySse::kStreamPath, Access::kReads,
      [this](const Request& request) { return legacy_sse_.open(request); });
  add("POST", LegacySse::kPostPath, Access::kReads,
      [this](const Request& request) { return legacy_sse_.post(request); });
  add("GET", "/healthz", Access::kPublic, [](const Request&) { return text(200, "ok\n"); });
  routes.back().any_host = true;
  add("GET", "/readyz", Access::kPublic, [this](const Request&) { return say_readiness(); });
  routes.back().any_host = true;
  add("GET", "/metrics", Access::kMetrics,
      [this](const Request&) { return text(200, print_metrics()); });
  return routes;
}

Response RunningService::say_readiness() {
  if (draining_) return text(kUnavailable, "draining\n");
  const Readiness now = options_.readiness ? options_.readiness() : Readiness();
  return text(now.is_ready ? 200 : kUnavailable, now.text);
}

std::string RunningService::print_metrics() {
  std::string all = endpoint_.metrics().print();
  all += metric("hutch_http_connections", "gauge", "Open connections.",
                static_cast<double>(sockets_.connections()));
  all += metric("hutch_http_streams", "gauge", "Responses that go on.",
                static_cast<double>(keep_alive_.count()));
  all += metric("hutch_http_refused_connections_total", "counter",
                "Connections closed because there were too many.",
                static_cast<double>(sockets_.refused_connections()));
  all +=
      metric("hutch_mcp_legacy_sessions", "gauge", "Sessions begun with initialize.",
             static_cast<double>(streamable_.sessions().count() + legacy_sse_.sessions().count()));
  if (options_.more_metrics) all += options_.more_metrics();
  return all;
}

void RunningService::look_after_streams(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  auto said = std::chrono::steady_clock::now();
  const auto step = std::min<std::chrono::milliseconds>(options_.keep_alive_every, kExpireEvery);
  while (!stop.stop_requested()) {
    (void)wakeup_.wait_for(lock, stop, step, [] { return false; });
    if (stop.stop_requested()) return;
    streamable_.sessions().expire();
    legacy_sse_.sessions().expire();
    if (std::chrono::steady_clock::now() - said < options_.keep_alive_every) continue;
    keep_alive_.send_comments();
    said = std::chrono::steady_clock::now();
  }
}

void RunningService::drain() {
  draining_ = true;
  sockets_.drain();
  if (options_.on_drain) options_.on_drain();
  // Streams that wait for something to happen have no end of their own.
  streamable_.stop();
  sockets_.wait_until_read(kReadPatience);
  (void)calls_.wait_until_idle(options_.drain_patience);
  streamable_.sessions().remove_all();
  legacy_sse_.sessions().remove_all();
  (void)sockets_.wait_until_idle(kLastChance);
}

}  // namespace

std::variant<std::unique_ptr<Service>, std::string> Service::start(const Server& server,
                                                                   ServeOptions options) {
  auto opened = Listener::open(options.address);
  if (auto* why = std::get_if<std::string>(&opened)) return std::move(*why);
  raise_descriptors(options.bounds);
  try {
    return std::make_unique<RunningService>(server, std::move(options),
                                            std::get<Listener>(std::move(opened)));
  } catch (const std::exception& failure) {
    return std::string(failure.what());
  }
}

std::string serve(const Server& server, ServeOptions options, int stop_fd,
                  const std::function<void(Service& service)>& listening) {
  auto started = Service::start(server, std::move(options));
  if (auto* why = std::get_if<std::string>(&started)) return std::move(*why);
  const auto& service = std::get<std::unique_ptr<Service>>(started);
  if (listening) listening(*service);
  pollfd entry{stop_fd, POLLIN, 0};
  while (::poll(&entry, 1, -1) <= 0 && errno == EINTR) {
  }
  service->drain();
  return "";
}

}  // namespace mcp::http
