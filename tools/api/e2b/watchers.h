// Directories that clients watch by asking again and again. Safe from any thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "mcp/http/budget.h"
#include "sessions/session.h"
#include "tools/api/e2b/tree_watch.h"

namespace tools::api::e2b {

struct WatchedDirectory {
  std::unique_ptr<TreeWatch> watch;
  std::string path;           // absolute
  bool with_entries = false;  // its client wants to know what each event left there
};

class Watchers {
 public:
  static constexpr std::size_t kMost =
      128;  // nobody gets one that would give it more than are left
  // A client that has not asked for so long has gone.
  static constexpr std::chrono::minutes kUnaskedMost{10};

  // Returns the watcher's id, which only its session has a use for. Fails with kLimit when too many
  // are there.
  base::Result<std::string> add(const sessions::Session& session, WatchedDirectory directory);
  // Holds what has happened since the last take(), and where.
  struct Taken {
    TreeWatch::Events events;
    std::string path;
    bool with_entries = false;
  };
  base::Result<Taken> take(const std::string& session_id, const std::string& id);
  base::Status remove(const std::string& session_id, const std::string& id);

 private:
  using Clock = std::chrono::steady_clock;
  struct Watcher {
    std::string session_id;
    std::shared_ptr<const void> room;
    Clock::time_point asked_at = {};  // under the mutex of all
    std::mutex mutex = {};            // guards the members below
    WatchedDirectory directory = {};
  };

  void forget_unasked();
  base::Result<std::shared_ptr<Watcher>> find(const std::string& session_id, const std::string& id);

  const std::shared_ptr<mcp::http::FairBudget> room_ =
      std::make_shared<mcp::http::FairBudget>(kMost);
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Watcher>> watchers_;
};

}  // namespace tools::api::e2b
