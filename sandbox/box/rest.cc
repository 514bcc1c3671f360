#include "sandbox/box/rest.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/boot_clock.h"
#include "base/fd.h"

namespace sandbox::box {

using base::Error;
using std::chrono::seconds;

namespace {

constexpr seconds kQuiet{1};
constexpr seconds kIdleWhereMemoryIsShort{5};
constexpr std::int64_t kTurns = 16;
constexpr seconds kBetweenFreezes{1};
constexpr seconds kBetweenFreezesMost{8};
// Processes go on beside that for no longer, where a client wants them stopped.
constexpr seconds kStoringBesideOthersMost{20};
// Less than the patience of a server that has asked for the end.
constexpr seconds kRevokedMost{20};

}  // namespace

base::Status Rest::freeze(bool frozen) {
  if (of_.cgroup.holds_freeze().empty()) {
    of_.init.signal_all(frozen ? SIGSTOP : SIGCONT);
  } else if (!of_.cgroup.freeze(frozen)) {
    // It would come true some time later, when nobody knows of it.
    if (frozen) (void)of_.cgroup.freeze(false);
    return base::error(Error::Kind::kInternal, "the cgroup freezer did not answer");
  }
  are_frozen_ = frozen;
  of_.runs.set_frozen(frozen);
  return base::done();
}

bool Rest::is_somebodys() const {
  return of_.record.is_used() || (of_.stored_state != nullptr && of_.stored_state->has_rested());
}

base::Status Rest::pause(Pauser pauser) {
  if (is_ending_) {
    return base::error(Error::Kind::kConflict, "the session is being stored already");
  }
  if (!paused()) {
    // One that nobody has used yet, as a spare, is to be there at once.
    const bool stores = is_somebodys() && !of_.spec.pauses_at_end;
    if (!stores) TRY(freeze(true));
    paused_since_ = Clock::now();
    paused_on_request_ = false;
    held_by_.clear();
    of_.runs.hold();
    if (stores) store_and_rest();
    if (!paused()) {
      return base::error(Error::Kind::kInternal, "its processes could not be frozen");
    }
  }
  // One that idleness has paused may be storing still.
  if (pauser == Pauser::kClient && !std::exchange(paused_on_request_, true)) bound_storing();
  return base::done();
}

std::string Rest::what_holds_it() const {
  const std::string held_by = of_.runs.what_cannot_be_stored();
  return held_by.empty() && has_files_in_memory() ? "there are files in /dev/shm" : held_by;
}

// In /dev/shm, which ends with the box. Hutch's own there begins with a dot.
bool Rest::has_files_in_memory() const {
  const auto place = base::open_file(of_.init.root_fd(), "dev/shm",
                                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
  return place.ok() && !base::names_in(place.value().get()).empty();
}

// Interpreters are there, which run nothing, and what runs have left behind: they are frozen when
// all is stored that can be, and not needed any more where that is everything.
void Rest::store_and_rest() {
  is_storing_ = true;
  const int pause = ++pauses_;
  of_.runs.store([this, pause](const std::string& held_by) { rest_once_quiet(pause, held_by); });
}

// Only what is there then is frozen for: a run that was on at the pause may be over, and storing
// goes on where nothing else runs.
void Rest::bound_storing() {
  if (!is_storing_) return;
  of_.loop.after(kStoringBesideOthersMost, [this, pause = pauses_] {
    if (has_ended_ || !is_storing_ || pause != pauses_) return;  // somebody uses it
    const std::string held_by = what_holds_it();
    if (!held_by.empty()) rest_once_quiet(pause, held_by);
  });
}

// A server may be about to open a file by the root of the box that it was given before the pause.
void Rest::rest_once_quiet(int pause, const std::string& held_by) {
  if (has_ended_ || !is_storing_ || pause != pauses_) return;  // somebody uses it
  const auto left = kQuiet - (Clock::now() - last_use_);
  if (held_by.empty() && left > Clock::duration::zero()) {
    of_.loop.after(std::chrono::ceil<std::chrono::milliseconds>(left),
                   [this, pause] { rest_once_quiet(pause, ""); });
    return;
  }
  is_storing_ = false;
  held_by_ = held_by.empty() ? what_holds_it() : held_by;
  rest();
}

void Rest::rest() {
  if (!held_by_.empty()) {
    if (freeze(true).ok()) return;
    // A session that only idleness has paused is tried again once it has been idle as long.
    return paused_on_request_ ? freeze_later(kBetweenFreezes) : static_cast<void>(resume());
  }
  of_.record.rests();
  of_.stored_state->rests();
  of_.end("what it knows was stored");
}

// A client has been told that it is paused, and a process may be where the kernel does not freeze
// it for a moment. Where that lasts, it is tried less and less often: the loop stands still for as
// long as each attempt takes.
void Rest::freeze_later(seconds wait) {
  of_.loop.after(wait, [this, wait, pause = pauses_] {
    // The state may be on its way to the disk, for the end, and is written by what would be frozen.
    if (has_ended_ || is_storing() || !paused() || pause != pauses_) return;
    if (!freeze(true).ok()) freeze_later(std::min(2 * wait, kBetweenFreezesMost));
  });
}

void Rest::in_use() {
  last_use_ = Clock::now();
  if (paused() && !paused_on_request_) (void)resume();
}

// Runs that are on go on meanwhile, but for frozen ones, and for those of a session that is to have
// less than it has: that waits for a moment only.
void Rest::shut_down(const std::string& why, Ending ending) {
  if (ending == Ending::kForGood) of_.runs.files_end_too();
  const bool may_store =
      of_.stored_state != nullptr && of_.record.is_used() && ending != Ending::kForGood;
  const bool waits_for_none = of_.runs.busy() && (paused() || ending == Ending::kRevoked);
  if (!may_store || waits_for_none || has_ended_) return of_.end(why);
  if (ending == Ending::kRevoked) {
    of_.end_network();
    of_.loop.after(kRevokedMost, [this, why] { of_.end(why); });
  }
  if (std::exchange(is_ending_, true)) return;  // it goes on storing
  if (paused() && !std::exchange(is_storing_, false)) (void)freeze(false);
  of_.runs.close();
  of_.runs.store([this, why](const std::string&) {
    of_.stored_state->flush();
    of_.end(why);
  });
}

void Rest::ends() {
  has_ended_ = true;
  if (paused()) (void)freeze(false);  // no resume(): what waits for its turn stays
}

base::Status Rest::resume() {
  last_use_ = Clock::now();
  if (!paused()) return base::done();
  ++pauses_;  // ends whatever was to come of this pause
  if (!std::exchange(is_storing_, false)) TRY(freeze(false));
  paused_since_.reset();
  of_.runs.release();
  return base::done();
}

void Rest::used() {
  last_use_ = Clock::now();
  // A box that cannot be thawed fails the run that follows, which says so better than this could.
  (void)resume();
}

std::optional<seconds> Rest::paused_for() const {
  if (!paused()) return std::nullopt;
  return std::chrono::floor<seconds>(Clock::now() - *paused_since_);
}

MemoryLeft Rest::host_memory_left() const {
  const std::int64_t second = base::boottime_ms() / 1000;
  return (second + ::getpid()) % kTurns == 0 ? host_memory_.left() : MemoryLeft::kEnough;
}

bool Rest::idle_too_long() {
  if (of_.runs.busy()) last_use_ = Clock::now();
  if (paused() || of_.runs.busy() || is_ending_) return false;
  const auto idle = Clock::now() - last_use_;
  const bool may_make_room = idle >= kIdleWhereMemoryIsShort && is_somebodys();
  return idle >= seconds(of_.spec.idle_seconds) ||
         (may_make_room && host_memory_left() != MemoryLeft::kEnough);
}

bool Rest::is_to_make_room() const {
  return paused() && is_somebodys() && host_memory_left() == MemoryLeft::kScarce;
}

}  // namespace sandbox::box
