#include "sessions/service_stop.h"

#include <mutex>

#include "sandbox/sandbox.h"
#include "sessions/at_once.h"
#include "sessions/ground.h"
#include "sessions/session_lists.h"
#include "sessions/store.h"

namespace sessions {

using base::Error;

namespace {

constexpr const char* kWhy = "the service that it ran in was stopped";

}  // namespace

base::Result<ServiceStop::Report> ServiceStop::end_boxes(std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto live = TRY(ground_.store.session_lists.live());
  std::mutex mutex;
  Report report;
  at_once(live.size(), [&](std::size_t i) {
    const std::string& id = live[i].id;
    const auto box = ground_.sandbox.look_at(id);
    if (!box.ok() || !box.value()->ends_with_service()) return;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const auto ended = left.count() > 0 ? box.value()->shutdown(kWhy, left)
                                        : base::error(Error::Kind::kLimit, "no time was left");
    const std::lock_guard lock(mutex);
    if (ended.ok()) {
      ++report.ended;
    } else {
      report.left.push_back(id + ": " + ended.error().message);
    }
  });
  return report;
}

}  // namespace sessions
