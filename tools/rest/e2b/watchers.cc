#include "tools/rest/e2b/watchers.h"

#include <utility>

#include "sandbox/base/random_id.h"

namespace tools::rest::e2b {

using base::Error;

namespace {

Error no_such() { return base::error(Error::Kind::kNotFound, "there is no such watcher"); }

}  // namespace

base::Result<std::string> Watchers::add(const std::string& session_id,
                                        std::unique_ptr<sandbox::files::DirectoryWatch> watch) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::erase_if(watchers_,
                [now](const auto& entry) { return now - entry.second.asked_at > kUnaskedMost; });
  if (watchers_.size() >= kMost) {
    return base::error(Error::Kind::kLimit, std::to_string(kMost) +
                                                " directories are watched, and no more can be: "
                                                "stop a watcher that is not needed");
  }
  std::string id = base::short_id("watch_");
  watchers_.emplace(id, Watcher{session_id, std::move(watch), now});
  return id;
}

base::Result<std::vector<sandbox::files::DirectoryEvent>> Watchers::take(
    const std::string& session_id, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = watchers_.find(id);
  if (found == watchers_.end() || found->second.session_id != session_id) return no_such();
  found->second.asked_at = Clock::now();
  return found->second.watch->take();
}

base::Status Watchers::remove(const std::string& session_id, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = watchers_.find(id);
  if (found == watchers_.end() || found->second.session_id != session_id) return no_such();
  watchers_.erase(found);
  return base::done();
}

}  // namespace tools::rest::e2b
