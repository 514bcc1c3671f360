// The tasks that one client of 2025-11-25 has begun: it is told of their status, and of their
// progress where it gave a token, without asking again. Safe from many threads.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mcp/changes.h"
#include "mcp/principal.h"
#include "mcp/server.h"
#include "mcp/wire/revision.h"

namespace mcp {

inline constexpr std::size_t kFollowedTasksMax = 100;  // the oldest are left

class TaskFollowers {
 public:
  using Send = std::function<void(const nlohmann::json& message)>;

  // `send` is null when the client can be told nothing it did not ask for.
  TaskFollowers(const Server& server, Principal principal, Send send)
      : server_(server), principal_(std::move(principal)), send_(std::move(send)) {}
  ~TaskFollowers();
  TaskFollowers(const TaskFollowers&) = delete;
  TaskFollowers& operator=(const TaskFollowers&) = delete;

  // Follows a task until it has ended. `progress_token` is null when none was given.
  void follow(const std::string& task_id, const nlohmann::json& progress_token,
              const wire::Format& format);

 private:
  struct Followed {
    Changes::Id listener = 0;
    std::shared_ptr<std::atomic<bool>> ended;
  };

  void tell(const Change& change, const nlohmann::json& progress_token, const wire::Format& format,
            std::atomic<bool>& ended) const;

  const Server& server_;
  const Principal principal_;
  const Send send_;
  std::mutex mutex_;
  std::vector<Followed> followed_;
};

}  // namespace mcp
