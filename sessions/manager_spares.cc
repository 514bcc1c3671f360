// Sessions made ahead of need: the box is up and its Python runs before anybody asks. Whoever wants
// a session that is like them gets one, which is a change of its row.
#include <algorithm>
#include <limits>
#include <utility>

#include "sandbox/base/clock.h"
#include "sandbox/environment.h"
#include "sessions/at_once.h"
#include "sessions/manager.h"

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
// Spares start the languages that were used so lately, and Python in any case.
constexpr std::int64_t kLanguageUseMs = 3'600'000;
// A box that is well answers in milliseconds: who asks for a session does not wait for another.
constexpr milliseconds kAnswerPatience{500};

}  // namespace

void Manager::keep_spares(const std::stop_token& stop) {
  // A sandbox protects in a folder what was there when it started: a repository that has been
  // made since must not be open to a session that begins only now.
  const auto& folders = config_.folders.all;
  const bool none = config_.folders.unasked &&
                    std::any_of(folders.begin(), folders.end(),
                                [](const sandbox::HostFolder& f) { return f.writable; });
  const auto too_few = [this, none] {
    return !none && spares_.ready.size() + spares_.in_hand < config_.spare_sessions;
  };
  const auto has_work = [&] { return too_few() || !spares_.condemned.empty(); };
  int failures = 0;
  std::unique_lock lock(spares_.mutex);
  while (!stop.stop_requested()) {
    condemn_unfit_spares();
    const std::vector<Session> condemned = std::exchange(spares_.condemned, {});
    const bool make_one = too_few();
    lock.unlock();
    for (const Session& spare : condemned) end_spare(spare, "it could not be given to anybody");
    auto made = make_one ? make_spare(stop)
                         : base::Result<Session>(base::error(base::Error::Kind::kNotFound, ""));
    lock.lock();
    failures = make_one && !made.ok() ? std::min(failures + 1, kDoublingsMax) : 0;
    if (made.ok()) spares_.ready.push_back(std::move(made).value());
    if (failures > 0) {
      (void)spares_.wakeup.wait_for(lock, stop, kRetryPause * (1 << (failures - 1)),
                                    [this] { return !spares_.condemned.empty(); });
    } else {
      (void)spares_.wakeup.wait_for(lock, stop, kLookInterval, has_work);
    }
  }
}

base::Result<Session> Manager::make_spare(const std::stop_token& stop) {
  const Session wanted = new_session(kSparePrincipal, quotas().default_limits);
  sandbox_.wait_until_warm(TRY(environment_of(wanted)), stop);
  const Session session =
      TRY(store_.create_session(wanted, config_.own_ids, std::numeric_limits<std::int64_t>::max()));
  const auto box = box_of(session);
  // Another server's sweep may have taken it for left over, when this took very long.
  auto now = store_.find_session(kSparePrincipal, session.id);
  if (box.ok() && now.ok() && now.value().status == SessionStatus::kReady) return now;
  end_spare(session, box.ok() ? "it is not as it was made" : box.error().message);
  return box.ok() ? base::error(base::Error::Kind::kUnavailable, "a spare session was lost")
                  : box.error();
}

// Withdrawn first: what somebody else has got meanwhile is left alone. One whose row cannot be
// changed now ends all the same, and the sweep finds the row.
void Manager::end_spare(const Session& spare, const std::string& why) {
  const auto withdrawn = store_.withdraw_spare(spare.id, why);
  if (withdrawn.ok() && !withdrawn.value()) {
    const auto row = store_.session_is_live(spare.id);
    if (!row.ok() || row.value()) return;  // somebody has it
  }
  // One that does not answer is left to the sweep: it ends by itself some time after this server.
  if (sandbox_.glance_at(spare.id, kAnswerPatience).ok() ||
      !sandbox_.is_alive(directory_of(spare.id))) {
    (void)bury(spare);
  }
}

base::Result<Session> Manager::try_to_take_row(const Session& wanted) {
  const Quotas now = quotas();
  const Store::Bounds bounds(now.sessions_max, now.kept_sessions_max);
  while (const auto spare = take_spare(wanted)) {
    auto adopted = store_.adopt_session(spare->id, wanted, bounds);
    const bool gone = !adopted.ok() && adopted.error().kind == base::Error::Kind::kNotFound;
    // Made for nobody, its box does not know. One that cannot be told waits longer than it need.
    if (adopted.ok()) {
      if (const auto box = sandbox_.find(spare->id); box.ok()) {
        const bool ends = wanted.ends_with_connection && config_.connections_end_with_server;
        (void)(ends ? box.value()->end_with_connection() : box.value()->taken());
        const auto left = lifetime_left_ms(adopted.value(), moment_now());
        if (left) (void)box.value()->set_lifetime(*left, wanted.pauses_at_end);
      }
    }
    const std::lock_guard lock(spares_.mutex);
    --spares_.in_hand;
    if (gone) spares_.condemned.push_back(*spare);
    if (!adopted.ok() && !gone) spares_.ready.push_front(*spare);
    if (adopted.ok() || gone) spares_.wakeup.notify_all();
    if (!gone) return adopted;
  }
  return store_.create_session(wanted, config_.own_ids, bounds);
}

// In hand until take_row() has put it somewhere.
std::optional<Session> Manager::take_spare(const Session& wanted) {
  std::unique_lock lock(spares_.mutex);
  while (!spares_.ready.empty()) {
    const Session& next = spares_.ready.front();
    const bool fits = next.limits == wanted.limits && next.env == wanted.env &&
                      next.host_folders == wanted.host_folders && next.paths == wanted.paths &&
                      next.network == wanted.network &&
                      next.template_name == wanted.template_name && has_usual_environment(next);
    if (!fits) return std::nullopt;
    Session taken = std::move(spares_.ready.front());
    spares_.ready.pop_front();
    ++spares_.in_hand;
    lock.unlock();
    if (is_fit(taken)) return taken;
    lock.lock();
    --spares_.in_hand;
    spares_.condemned.push_back(std::move(taken));
    spares_.wakeup.notify_all();
  }
  return std::nullopt;
}

// Its time of rest begins anew, and one that was paused in it goes on.
bool Manager::is_fit(const Session& spare) {
  if (!sandbox_.glance_at(spare.id, kAnswerPatience).ok()) return false;
  const auto box = sandbox_.find(spare.id);
  return box.ok() && box.value()->resume().ok();
}

// The usual environment may have been built, or built anew, since the spare was made.
bool Manager::has_usual_environment(const Session& spare) const {
  const std::string& directory = config_.environments_directory;
  return spare.template_name == sandbox::usual_template(directory, config_.usual_template) &&
         sandbox::named_since_ms(directory, spare.template_name) <= spare.created_at;
}

base::Result<std::vector<sandbox::Language>> Manager::languages_ahead() const {
  std::vector<sandbox::Language> ahead = {sandbox::Language::kPython};
  for (const std::string& name : TRY(store_.recent_languages(base::now_ms() - kLanguageUseMs))) {
    const auto language = sandbox::find_language(name);
    if (language && *language != sandbox::Language::kPython) ahead.push_back(*language);
  }
  return ahead;
}

// With the lock held.
void Manager::condemn_unfit_spares() {
  const std::int64_t now = base::now_ms();
  const Session usual = new_session(kSparePrincipal, quotas().default_limits);
  const auto fit = [&](const Session& spare) {
    return now - spare.created_at < kAgeMaxMs && has_usual_environment(spare) &&
           spare.limits == usual.limits && spare.idle_seconds == usual.idle_seconds &&
           sandbox_.is_alive(directory_of(spare.id));
  };
  const auto unfit = std::stable_partition(spares_.ready.begin(), spares_.ready.end(), fit);
  spares_.condemned.insert(spares_.condemned.end(), unfit, spares_.ready.end());
  spares_.ready.erase(unfit, spares_.ready.end());
}

void Manager::end_spares() {
  if (!spares_.maker.joinable()) return;
  spares_.maker.request_stop();
  spares_.maker.join();
  std::vector<Session> left(spares_.ready.begin(), spares_.ready.end());
  left.insert(left.end(), spares_.condemned.begin(), spares_.condemned.end());
  at_once(left.size(), [&](std::size_t i) { end_spare(left[i], "nobody has asked for it"); });
}

// That of a server that is gone: its box ends by itself some time after it.
void Manager::sweep_spare(const Session& session) {
  if (base::now_ms() - session.created_at < kMakingMs) return;
  if (!sandbox_.is_alive(directory_of(session.id))) end_spare(session, "its server is gone");
}

}  // namespace sessions
