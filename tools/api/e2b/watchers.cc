#include "tools/api/e2b/watchers.h"

#include <utility>

#include "base/random_id.h"

namespace tools::api::e2b {

using base::Error;

namespace {

Error no_such_watcher() { return base::error(Error::Kind::kNotFound, "there is no such watcher"); }

}  // namespace

base::Result<std::string> Watchers::add(const sessions::Session& session,
                                        WatchedDirectory directory) {
  const std::lock_guard lock(mutex_);
  forget_unasked();
  auto room = mcp::http::FairBudget::take(room_, session.principal_id, 1);
  if (!room) {
    return base::error(Error::Kind::kLimit,
                       "no more directories can be watched: stop a watcher that is not needed");
  }
  std::string id = base::short_id("watch_");
  auto watcher = std::make_shared<Watcher>();
  watcher->session_id = session.id;
  watcher->room = std::move(room);
  watcher->asked_at = Clock::now();
  watcher->directory = std::move(directory);
  watchers_.emplace(id, std::move(watcher));
  return id;
}

base::Result<Watchers::Taken> Watchers::take(const std::string& session_id, const std::string& id) {
  const std::shared_ptr<Watcher> watcher = TRY(find(session_id, id));
  const std::lock_guard lock(watcher->mutex);
  WatchedDirectory& directory = watcher->directory;
  auto events = TRY(directory.watch->take());
  return Taken{std::move(events), directory.path, directory.with_entries};
}

base::Status Watchers::remove(const std::string& session_id, const std::string& id) {
  (void)TRY(find(session_id, id));
  const std::lock_guard lock(mutex_);
  watchers_.erase(id);
  return base::done();
}

void Watchers::forget_unasked() {
  const auto now = Clock::now();
  std::erase_if(watchers_,
                [now](const auto& entry) { return now - entry.second->asked_at > kUnaskedMost; });
}

base::Result<std::shared_ptr<Watchers::Watcher>> Watchers::find(const std::string& session_id,
                                                                const std::string& id) {
  const std::lock_guard lock(mutex_);
  forget_unasked();
  const auto found = watchers_.find(id);
  if (found == watchers_.end() || found->second->session_id != session_id) return no_such_watcher();
  found->second->asked_at = Clock::now();
  return found->second;
}

}  // namespace tools::api::e2b
