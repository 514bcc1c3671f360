// MCP over HTTP: /mcp (Streamable HTTP), /sse and /messages (the transport of 2024-11-05), and what
// operators ask: /healthz, /readyz, /metrics.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "mcp/http/bounds.h"
#include "mcp/http/door.h"
#include "mcp/http/legacy_sessions.h"
#include "mcp/http/listener.h"
#include "mcp/http/message.h"
#include "mcp/http/route.h"
#include "mcp/server.h"

namespace mcp::http {

// An AccessRecord is one answered request, for the log.
struct AccessRecord {
  const Request& request;
  int status;
  bool streams;  // the answer goes on
  std::chrono::steady_clock::duration took;
};

// It says whether more may be sent here, and why.
struct Readiness {
  bool is_ready = true;
  std::string text = "ready\n";
};

struct ServeOptions {
  Address address;
  DoorOptions door;
  auth::Authorizer authorize = nullptr;  // null: who has come in may do everything
  // Says why this principal may not ask at a route of that access; not called for public ones.
  // Null: all may.
  std::function<std::optional<auth::Challenge>(const Principal& principal, Route::Access access)>
      may_ask = nullptr;
  Bounds bounds = {};
  LegacySessions::Limits sessions = {};
  std::size_t call_threads = 1024;  // calls at once, with those that wait for a run
  std::size_t call_queue = 10'000;  // calls that wait for their turn; more are refused
  // A principal gets at most so many of these:
  std::size_t call_threads_each = 512;
  std::size_t call_queue_each = 1000;
  std::size_t calls_at_work_each = 8 * std::max(1U, std::thread::hardware_concurrency());
  // So many while other principals call, too: half of the processors stay for these.
  std::size_t calls_at_work_beside_others_each =
      std::max(1U, std::thread::hardware_concurrency() / 2);
  std::size_t calls_per_minute_each = 0;  // 0: as many as come
  std::string unbounded_principal;        // for whom the last four are not; empty: nobody
  std::chrono::milliseconds json_patience{500};
  std::chrono::milliseconds keep_alive_every{15'000};
  // Calls in progress have this long to end when the server is to stop.
  std::chrono::milliseconds drain_patience{10'000};
  // Tools during whose calls clients of 2025-11-25 are made to resume their stream.
  std::set<std::string> polled_tools = {};
  std::vector<Route> routes = {};                       // beside those of MCP
  std::function<std::string()> more_metrics = nullptr;  // appended to /metrics
  // It says what /readyz does while nothing is drained. It looks at what has happened, and does
  // nothing that others would wait for; null: the server is always ready.
  std::function<Readiness()> readiness = nullptr;
  std::function<void(const AccessRecord& record)> on_access = nullptr;  // from any thread
  std::function<void(const std::string& connection_id)> on_session_end = nullptr;
  std::function<void()> on_drain = nullptr;  // calls that can be handed over should be
};

// A Service is a server that listens. It is safe from many threads.
class Service {
 public:
  // `server` outlives it. The other alternative says why it cannot listen.
  static std::variant<std::unique_ptr<Service>, std::string> start(const Server& server,
                                                                   ServeOptions options);
  virtual ~Service() = default;

  [[nodiscard]] virtual std::string name() const = 0;  // "127.0.0.1:8931"
  [[nodiscard]] virtual int port() const = 0;
  // Takes nothing new; what is open gets `drain_patience`. Returns when all is over.
  virtual void drain() = 0;
  // These names let in from now on.
  virtual void change_names(DoorNames names) = 0;
};

// Serves until `stop_fd` becomes readable, then drains. `listening` is told of it, once it does.
// Returns why it could not, or nothing.
std::string serve(const Server& server, ServeOptions options, int stop_fd,
                  const std::function<void(Service& service)>& listening);

}  // namespace mcp::http
