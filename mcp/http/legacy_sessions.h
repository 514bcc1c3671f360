// Sessions of the revisions that begin with initialize: what lasts from request to request.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mcp/connection.h"
#include "mcp/http/event_log.h"
#include "mcp/principal.h"
#include "mcp/server.h"

namespace mcp::http {

// `run` takes work that holds what it needs.
using RunWork = std::function<bool(const std::string& principal_id, std::function<void()> work)>;

// A ConnectionEnded is told of the end of a session's connection, and again when the last of its
// work is done, which may have made things meanwhile.
using ConnectionEnded = std::function<void(const std::string& connection_id)>;

// Makes a connection that lives as long as its work does; `ended`, which may be null, is told then.
std::shared_ptr<Connection> make_connection(const Server& server, Connection::Options options,
                                            const RunWork& run, const ConnectionEnded& ended);

struct LegacySession {
  std::string id;             // a secret of the client
  std::string connection_id;  // the name that tools know it by
  Principal principal;        // whoever began it
  std::shared_ptr<EventLog> log;
  std::shared_ptr<Connection> connection;
  std::chrono::steady_clock::time_point last_used;  // guarded by the table
};

class LegacySessions {
 public:
  struct Limits {
    std::size_t sessions = 16384;     // and nobody gets one that would give it more than are left
    std::chrono::seconds idle{1800};  // without a request, an open call or a reader
    // A session idle for this long gives way to a new one of the same principal.
    std::chrono::seconds gives_way{60};
  };
  // `ended` is told of each session that ends; may be null.
  LegacySessions(Limits limits, ConnectionEnded ended)
      : limits_(limits), ended_(std::move(ended)) {}

  // Returns false when there are too many.
  bool add(const std::shared_ptr<LegacySession>& session);
  // Returns null when there is none, it is another principal's, or a token of other scopes began
  // it, with which its tools are called: nobody can tell these apart.
  std::shared_ptr<LegacySession> find(const std::string& id, const Principal& principal);
  // Ends it: its requests are cancelled, its streams close.
  void remove(const std::string& id);
  void expire();
  void remove_all();
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::vector<std::shared_ptr<LegacySession>> all() const;

 private:
  using Clock = std::chrono::steady_clock;
  static bool is_idle(const LegacySession& session, Clock::time_point since);
  void end(const LegacySession& session) const;

  const Limits limits_;
  const ConnectionEnded ended_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<LegacySession>> sessions_;
};

}  // namespace mcp::http
