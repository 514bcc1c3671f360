#include "mcp/task_followers.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/task_view.h"
#include "mcp/wire/shape.h"

namespace mcp {

using nlohmann::json;

TaskFollowers::~TaskFollowers() {
  for (const Followed& one : followed_) server_.changes().remove(one.listener);
}

void TaskFollowers::follow(const std::string& task_id, const json& progress_token,
                           const wire::Format& format) {
  if (!send_) return;
  Changes::Filter filter;
  filter.task_ids.insert(task_id);
  filter.progress = !progress_token.is_null();
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  const auto listener = server_.changes().add(
      principal_.id, filter,
      [this, progress_token, &format, ended](const Change& change) {
        tell(change, progress_token, format, *ended);
      },
      /*counted=*/false);
  std::vector<Followed> left;
  {
    const std::lock_guard lock(mutex_);
    if (listener) followed_.push_back({*listener, ended});
    std::vector<Followed> kept;
    for (std::size_t i = 0; i < followed_.size(); ++i) {
      const bool too_many = followed_.size() - i > kFollowedTasksMax;
      (*followed_[i].ended || too_many ? left : kept).push_back(followed_[i]);
    }
    followed_.swap(kept);
  }
  for (const Followed& one : left) server_.changes().remove(one.listener);
}

void TaskFollowers::tell(const Change& change, const json& progress_token,
                         const wire::Format& format, std::atomic<bool>& ended) const {
  if (ended) return;
  if (change.kind == Change::Kind::kTaskProgress) {
    return send_(make_notification("notifications/progress",
                                   wire::shape_progress(progress_token, change.progress,
                                                        std::nullopt, change.message, format)));
  }
  const auto task = server_.tasks()->find(principal_, change.subject);
  if (!task) return;
  ended = task->is_terminal();
  send_(make_notification("notifications/tasks/status",
                          view_task(*server_.tasks(), principal_, *task, json::object(), format)));
}

}  // namespace mcp
