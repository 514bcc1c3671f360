#include "sessions/session_states.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "sessions/at_once.h"
#include "sessions/ended_boxes.h"
#include "sessions/ground.h"
#include "sessions/patience.h"
#include "sessions/session_directory.h"
#include "sessions/session_lists.h"

namespace sessions {

namespace {

using std::chrono::steady_clock;

// A box that is well answers in milliseconds; one that hostile code keeps busy shall not keep the
// client of another waiting.
constexpr std::chrono::milliseconds kGlancePatience{1000};
constexpr std::chrono::milliseconds kSweepPatience{200};
// A thread that others wait for waits no longer than this for a box.
constexpr std::chrono::milliseconds kSleeperPatience{50};
// All of them together.
constexpr std::chrono::milliseconds kListPatience{2000};

void add_status(SessionState& state, sandbox::BoxStatus status) {
  state.is_storing = status.is_storing;
  state.held_by = std::move(status.held_by);
  state.active = std::move(status.active);
  state.session.status = status.paused          ? SessionStatus::kPaused
                         : state.active.empty() ? SessionStatus::kReady
                                                : SessionStatus::kRunning;
}

// Looked at, however many there are: the first call of a connection waits for it.
constexpr std::int64_t kLookedAt = 20;
constexpr std::int64_t kEntriesCounted = 100;

void count_entries(const std::string& directory, EarlierSession& earlier) {
  base::UniqueFd fd(
      ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  // One that cannot be read has nothing to go on with.
  if (!fd.valid()) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd.release()), &::closedir);
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries.get())) {  // NOLINT: one thread
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    earlier.has_more = earlier.entries == kEntriesCounted;
    if (earlier.has_more) return;
    ++earlier.entries;
  }
}

}  // namespace

const char* name_of(Tier tier) {
  switch (tier) {
    case Tier::kFrozen:
      return "frozen";
    case Tier::kStored:
      return "stored";
    default:
      return "files";
  }
}

std::optional<Tier> tier_of(SessionStatus status) {
  switch (status) {
    case SessionStatus::kPaused:
      return Tier::kFrozen;
    case SessionStatus::kStored:
      return Tier::kStored;
    case SessionStatus::kStopped:
      return Tier::kFiles;
    default:
      return std::nullopt;
  }
}

bool SessionStates::wakes_with_state(const std::string& session_id) const {
  return ground_.config.autosave_mb > 0 && ground_.files_of(session_id).is_stored();
}

std::optional<Tier> SessionStates::tier_now(const std::string& session_id) {
  const auto status = ground_.sandbox.glance_at(session_id, kGlancePatience);
  if (status.ok()) return status.value().paused ? std::optional(Tier::kFrozen) : std::nullopt;
  if (status.error().kind != base::Error::Kind::kNotFound) return std::nullopt;
  return wakes_with_state(session_id) ? Tier::kStored : Tier::kFiles;
}

base::Result<SessionState> SessionStates::state_of(Session session) {
  SessionState state{std::move(session), {}};
  if (state.session.status == SessionStatus::kDestroyed) return state;
  const auto box = ground_.sandbox.look_at(state.session.id);
  auto status = box.ok() ? box.value()->status() : base::Result<sandbox::BoxStatus>(box.error());
  if (status.ok()) {
    add_status(state, std::move(status).value());
  } else {
    add_silence(state, status.error());
  }
  return state;
}

bool SessionStates::sleeps(const Session& session) {
  // Nothing else can have paused it.
  if (session.status != SessionStatus::kPaused && !session.pauses_at_end) return false;
  const auto status = ground_.sandbox.glance_at(session.id, kSleeperPatience);
  return status.ok() ? status.value().paused_on_request : session.status == SessionStatus::kPaused;
}

void SessionStates::add_silence(SessionState& state, const base::Error& why) {
  look_for_box(state, why);
  if (state.session.status != SessionStatus::kStopped) return;
  if (wakes_with_state(state.session.id)) {
    state.session.status = SessionStatus::kStored;
  }
}

void SessionStates::look_for_box(SessionState& state, const base::Error& why) {
  if (state.session.status == SessionStatus::kError ||
      state.session.status == SessionStatus::kProvisioning) {
    return;
  }
  // Where no box listens, the owner may be a server that is clearing up, which takes a moment.
  const bool is_box = why.kind != base::Error::Kind::kNotFound;
  const std::string directory = ground_.files_of(state.session.id).path();
  const bool ended = wait_until(is_box ? std::chrono::milliseconds(0) : kSweepPatience,
                                [&] { return !ground_.sandbox.is_alive(directory); });
  // Nothing waits in it where no box listens, whoever is clearing up.
  const bool was_paused = state.session.status == SessionStatus::kPaused;
  // One that lives and could not be asked is as the database has it.
  if (ended || (was_paused && !is_box)) {
    // Its processes may be there still, frozen, where its box was killed.
    if (ended && (was_paused || state.session.status == SessionStatus::kReady))
      ended_.add(state.session.id);
    state.session.status = SessionStatus::kStopped;
  } else {
    state.session.error = "its sandbox does not answer at the moment";
  }
}

base::Result<SessionStates::Listed> SessionStates::list(
    const std::string& principal_id, const std::optional<SessionStatus>& status) {
  if (status == SessionStatus::kDestroyed) {  // it stays so; the others are what their boxes say
    std::vector<SessionState> states;
    for (Session& session : TRY(session_lists_.newest(principal_id, true, kListedMax))) {
      states.push_back({std::move(session), {}});
    }
    return std::make_shared<const std::vector<SessionState>>(std::move(states));
  }
  auto aside = ground_.config.step_aside();  // it waits for its round, and for boxes
  const Listed all = TRY(lists_.of(principal_id, [&] { return ask_boxes_of(principal_id); }));
  aside = nullptr;
  if (!status) return all;
  std::vector<SessionState> states;
  std::ranges::copy_if(*all, std::back_inserter(states), [&status](const SessionState& state) {
    return state.session.status == *status;
  });
  return std::make_shared<const std::vector<SessionState>>(std::move(states));
}

base::Result<SessionStates::Listed> SessionStates::ask_boxes_of(const std::string& principal_id) {
  std::vector<SessionState> states;
  for (Session& session : TRY(session_lists_.newest(principal_id, false, kListedMax))) {
    states.push_back({std::move(session), {}});
  }
  ask_boxes(states);
  return std::make_shared<const std::vector<SessionState>>(std::move(states));
}

void SessionStates::ask_boxes(std::vector<SessionState>& states) {
  const auto deadline = steady_clock::now() + kListPatience;
  at_once(states.size(), [&](std::size_t i) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
    // Each has a hello and a question to answer.
    const auto patience = std::min(kGlancePatience, left) / 2;
    auto told = patience.count() > 0
                    ? ground_.sandbox.glance_at(states[i].session.id, patience)
                    : base::Result<sandbox::BoxStatus>(
                          base::error(base::Error::Kind::kUnavailable, "no time to ask is left"));
    if (told.ok()) {
      add_status(states[i], std::move(told).value());
    } else {
      add_silence(states[i], told.error());
    }
  });
}

base::Result<std::vector<EarlierSession>> SessionStates::earlier_with_something(
    const std::string& principal_id, const std::string& than_id, std::size_t most) {
  std::vector<EarlierSession> found;
  for (Session& session : TRY(session_lists_.newest(principal_id, false, kLookedAt))) {
    if (session.id == than_id) continue;
    EarlierSession earlier{std::move(session)};
    const SessionDirectory files = ground_.files_of(earlier.session.id);
    count_entries(files.workspace(), earlier);
    earlier.has_variables = files.stores_variables();
    earlier.has_shell = files.stores_shell();
    if (earlier.entries == 0 && !earlier.has_variables && !earlier.has_shell) continue;
    found.push_back(std::move(earlier));
    if (found.size() == most) break;
  }
  return found;
}

}  // namespace sessions
