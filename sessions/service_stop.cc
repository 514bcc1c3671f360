#include "sessions/service_stop.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "sandbox/sandbox.h"
#include "sessions/at_once.h"
#include "sessions/ground.h"
#include "sessions/patience.h"
#include "sessions/session_lists.h"

namespace sessions {

using base::Error;
using std::chrono::steady_clock;

namespace {

constexpr const char* kWhy = "the service that it ran in was stopped";
// So many store at once: more would only wait for each other's disk and processors.
constexpr std::size_t kAtOnceMost = 32;
// One that takes longer does not keep the next one waiting.
constexpr std::chrono::seconds kTurn{20};

}  // namespace

base::Result<std::vector<std::string>> ServiceStop::boxes_of_service(Report& report) {
  const auto live = TRY(session_lists_.live());
  std::vector<std::string> ids;
  std::mutex mutex;
  at_once(live.size(), [&](std::size_t i) {
    const auto box = ground_.sandbox.look_at(live[i].id);
    const std::lock_guard lock(mutex);
    if (box.ok() && box.value()->ends_with_service()) ids.push_back(live[i].id);
    if (!box.ok() && box.error().kind != Error::Kind::kNotFound) {
      report.left.push_back(live[i].id + ": " + box.error().message);
    }
  });
  return ids;
}

bool ServiceStop::ask(const std::string& session_id, Report& report) {
  const auto box = ground_.sandbox.look_at(session_id);
  if (!box.ok()) return false;  // it has ended by itself
  const auto asked = box.value()->shutdown(kWhy, std::chrono::milliseconds(0));
  // It goes on storing.
  if (asked.ok() || asked.error().kind == Error::Kind::kConflict) return true;
  report.left.push_back(session_id + ": " + asked.error().message);
  return false;
}

base::Result<ServiceStop::Report> ServiceStop::end_boxes(std::chrono::seconds patience) {
  const auto deadline = steady_clock::now() + patience;
  Report report;
  auto waiting = TRY(boxes_of_service(report));
  const std::size_t all = waiting.size() + report.left.size();
  std::map<std::string, steady_clock::time_point> asked;
  while (!(waiting.empty() && asked.empty()) && steady_clock::now() < deadline) {
    std::erase_if(asked, [this](const auto& one) { return !ground_.is_owned(one.first); });
    auto at_work =
        static_cast<std::size_t>(std::count_if(asked.begin(), asked.end(), [](const auto& one) {
          return steady_clock::now() - one.second < kTurn;
        }));
    for (; at_work < kAtOnceMost && !waiting.empty(); ++at_work) {
      if (ask(waiting.back(), report)) asked[waiting.back()] = steady_clock::now();
      waiting.pop_back();
    }
    if (!asked.empty()) pause_for_box();
  }
  for (const auto& [id, since] : asked) {
    if (ground_.is_owned(id)) report.left.push_back(id + ": it was still being stored");
  }
  for (const std::string& id : waiting) report.left.push_back(id + ": no time was left");
  report.ended = all - std::min(all, report.left.size());
  return report;
}

}  // namespace sessions
