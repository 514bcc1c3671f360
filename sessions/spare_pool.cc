#include "sessions/spare_pool.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "sandbox/environment.h"
#include "sessions/at_once.h"
#include "sessions/box_specs.h"
#include "sessions/boxes.h"
#include "sessions/ground.h"
#include "sessions/session.h"
#include "sessions/session_ends.h"
#include "sessions/session_table.h"
#include "sessions/session_time.h"
#include "sessions/spare_table.h"

namespace sessions {

namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kLookInterval{60};
// After a failure, doubled each time: what failed now most often fails again.
constexpr std::chrono::seconds kRetryPause{60};
constexpr int kDoublingsMax = 6;
// How long one may be without a box while it is being made.
constexpr std::int64_t kMakingMs = 60'000;
// An older one may have in its memory what was replaced on the host since.
constexpr std::int64_t kAgeMaxMs = 3'600'000;
// A box that is well answers in milliseconds: who asks for a session does not wait for another.
constexpr milliseconds kAnswerPatience{500};

}  // namespace

base::Status SparePool::start() {
  if (ground_.config.spare_sessions == 0) return base::done();
  TRY(spares_.ensure_principal());
  maker_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
  return base::done();
}

void SparePool::stop() {
  if (!maker_.joinable()) return;
  maker_.request_stop();
  maker_.join();
  std::vector<Session> left(ready_.begin(), ready_.end());
  left.insert(left.end(), condemned_.begin(), condemned_.end());
  at_once(left.size(), [&](std::size_t i) { end(left[i], "nobody has asked for it"); });
}

bool SparePool::makes_none() const {
  // A sandbox protects in a folder what was there when it started: a repository that has been
  // made since must not be open to a session that begins only now.
  const auto& folders = ground_.config.folders.all;
  return ground_.config.folders.unasked &&
         std::any_of(folders.begin(), folders.end(),
                     [](const sandbox::HostFolder& f) { return f.writable; });
}

void SparePool::keep(const std::stop_token& stop) {
  const bool none = makes_none();
  const auto too_few = [this, none] {
    return !none && ready_.size() + in_hand_ < ground_.config.spare_sessions;
  };
  const auto has_work = [&] { return too_few() || !condemned_.empty(); };
  int failures = 0;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    condemn_unfit();
    const std::vector<Session> condemned = std::exchange(condemned_, {});
    const bool make_one = too_few();
    lock.unlock();
    for (const Session& spare : condemned) end(spare, "it could not be given to anybody");
    auto made = make_one ? make(stop)
                         : base::Result<Session>(base::error(base::Error::Kind::kNotFound, ""));
    lock.lock();
    failures = make_one && !made.ok() ? std::min(failures + 1, kDoublingsMax) : 0;
    if (made.ok()) ready_.push_back(std::move(made).value());
    if (failures > 0) {
      (void)wakeup_.wait_for(lock, stop, kRetryPause * (1 << (failures - 1)),
                             [this] { return !condemned_.empty(); });
    } else {
      (void)wakeup_.wait_for(lock, stop, kLookInterval, has_work);
    }
  }
}

base::Result<Session> SparePool::make(const std::stop_token& stop) {
  const Session wanted = ground_.new_session(kSparePrincipal, ground_.quotas.now().default_limits);
  ground_.sandbox.wait_until_warm(TRY(specs_.environment_of(wanted)), stop);
  const Session session = TRY(
      sessions_.create(wanted, ground_.config.own_ids, std::numeric_limits<std::int64_t>::max()));
  const auto box = boxes_.box_of(session);
  // Another server's sweep may have taken it for left over, when this took very long.
  auto now = sessions_.find(kSparePrincipal, session.id);
  if (box.ok() && now.ok() && now.value().status == SessionStatus::kReady) return now;
  end(session, box.ok() ? "it is not as it was made" : box.error().message);
  return box.ok() ? base::error(base::Error::Kind::kUnavailable, "a spare session was lost")
                  : box.error();
}

// Withdrawn first: what somebody else has got meanwhile is left alone. One whose row cannot be
// changed now ends all the same, and the sweep finds the row.
void SparePool::end(const Session& spare, const std::string& why) {
  const auto withdrawn = spares_.withdraw(spare.id, why);
  if (withdrawn.ok() && !withdrawn.value()) {
    const auto row = sessions_.is_live(spare.id);
    if (!row.ok() || row.value()) return;  // somebody has it
  }
  // One that does not answer is left to the sweep: it ends by itself some time after this server.
  if (ground_.sandbox.glance_at(spare.id, kAnswerPatience).ok() || !ground_.is_owned(spare.id)) {
    (void)ends_.bury(spare);
  }
}

base::Result<std::optional<Session>> SparePool::adopt(const Session& wanted,
                                                      const SessionBounds& bounds) {
  while (const auto spare = take(wanted)) {
    auto adopted = spares_.adopt(spare->id, wanted, bounds);
    const bool gone = !adopted.ok() && adopted.error().kind == base::Error::Kind::kNotFound;
    if (adopted.ok()) tell_box(adopted.value(), wanted);
    const std::lock_guard lock(mutex_);
    --in_hand_;
    if (gone) condemned_.push_back(*spare);
    if (!adopted.ok() && !gone) ready_.push_front(*spare);
    if (adopted.ok() || gone) wakeup_.notify_all();
    if (adopted.ok()) return std::optional<Session>(std::move(adopted).value());
    if (!gone) return std::move(adopted).error();
  }
  return std::optional<Session>();
}

// A box that cannot be told waits longer than it need.
void SparePool::tell_box(const Session& adopted, const Session& wanted) {
  const auto box = ground_.sandbox.find(adopted.id);
  if (!box.ok()) return;
  const bool ends = wanted.ends_with_connection && ground_.config.connections_end_with_server;
  (void)(ends ? box.value()->end_with_connection() : box.value()->taken());
  const auto left = lifetime_left_ms(adopted, moment_now());
  if (left) (void)box.value()->set_lifetime(*left, wanted.pauses_at_end);
}

std::optional<Session> SparePool::take(const Session& wanted) {
  std::unique_lock lock(mutex_);
  while (!ready_.empty()) {
    const Session& next = ready_.front();
    const bool fits = next.limits == wanted.limits && next.env == wanted.env &&
                      next.host_folders == wanted.host_folders && next.paths == wanted.paths &&
                      next.network == wanted.network &&
                      next.template_name == wanted.template_name && has_usual_environment(next);
    if (!fits) return std::nullopt;
    Session taken = std::move(ready_.front());
    ready_.pop_front();
    ++in_hand_;
    lock.unlock();
    if (is_fit(taken)) return taken;
    lock.lock();
    --in_hand_;
    condemned_.push_back(std::move(taken));
    wakeup_.notify_all();
  }
  return std::nullopt;
}

// Its time of rest begins anew, and one that was paused in it goes on.
bool SparePool::is_fit(const Session& spare) {
  if (!ground_.sandbox.glance_at(spare.id, kAnswerPatience).ok()) return false;
  const auto box = ground_.sandbox.find(spare.id);
  return box.ok() && box.value()->resume().ok();
}

// The usual environment may have been built, or built anew, since the spare was made.
bool SparePool::has_usual_environment(const Session& spare) const {
  const std::string& directory = ground_.config.environments_directory;
  return spare.template_name == sandbox::usual_template(directory, ground_.config.usual_template) &&
         sandbox::named_since_ms(directory, spare.template_name) <= spare.created_at;
}

void SparePool::condemn_unfit() {
  const std::int64_t now = base::now_ms();
  const Session usual = ground_.new_session(kSparePrincipal, ground_.quotas.now().default_limits);
  const auto fit = [&](const Session& spare) {
    return now - spare.created_at < kAgeMaxMs && has_usual_environment(spare) &&
           spare.limits == usual.limits && spare.idle_seconds == usual.idle_seconds &&
           ground_.is_owned(spare.id);
  };
  const auto unfit = std::stable_partition(ready_.begin(), ready_.end(), fit);
  condemned_.insert(condemned_.end(), unfit, ready_.end());
  ready_.erase(unfit, ready_.end());
}

// Its box ends by itself some time after its server.
void SparePool::sweep(const Session& spare) {
  if (base::now_ms() - spare.created_at < kMakingMs) return;
  if (!ground_.is_owned(spare.id)) end(spare, "its server is gone");
}

}  // namespace sessions
