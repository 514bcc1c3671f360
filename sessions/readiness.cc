#include "sessions/readiness.h"

#include <algorithm>

#include "base/full_disk.h"

namespace sessions {

Outcome outcome_of(const base::Error& failure) {
  using Kind = base::Error::Kind;
  if (base::is_full_disk(failure)) return Outcome::kFullDisk;
  switch (failure.kind) {
    case Kind::kInvalid:
    case Kind::kNotFound:
    case Kind::kLimit:
    case Kind::kConflict:
      return Outcome::kCallersFault;
    default:
      return Outcome::kHostsFault;
  }
}

void Readiness::started(const std::string& principal_id, const base::Error* failure) {
  const Outcome outcome = failure == nullptr ? Outcome::kDone : outcome_of(*failure);
  const auto now = now_();
  const std::lock_guard lock(mutex_);
  forget();
  Starts& own = starts_[principal_id];
  own.tried = now;
  if (outcome == Outcome::kHostsFault) own.failed = now;
  if (outcome == Outcome::kFullDisk) full_for_starts_ = now;
  if (outcome != Outcome::kDone) return;
  last_start_ = now;
  full_for_starts_.reset();
}

void Readiness::wrote(Clock::time_point begun, const base::Error* failure) {
  const Outcome outcome = failure == nullptr ? Outcome::kDone : outcome_of(*failure);
  const auto now = now_();
  const std::lock_guard lock(mutex_);
  if (outcome == Outcome::kFullDisk) full_for_database_ = now;
  if (outcome == Outcome::kHostsFault) {
    if (!is_recent(last_failure_)) failing_since_.reset();
    if (!failing_since_) failing_since_ = begun;
    last_failure_ = now;
  }
  if (outcome != Outcome::kDone) return;
  failing_since_.reset();
  last_failure_.reset();
  full_for_database_.reset();
}

Readiness::State Readiness::look() {
  const std::lock_guard lock(mutex_);
  forget();
  State state;
  state.disk_is_full = is_recent(full_for_starts_) || is_recent(full_for_database_);
  if (database_fails()) {
    state.trouble = "the database cannot be written";
  } else if (starts_fail()) {
    state.trouble = "no sandbox starts on this host";
  }
  return state;
}

bool Readiness::is_recent(const std::optional<Clock::time_point>& at) const {
  return at && now_() - *at < kMemory;
}

void Readiness::forget() {
  std::erase_if(starts_, [this](const auto& entry) { return !is_recent(entry.second.tried); });
}

// A principal whose sessions are of a kind that this host cannot start says nothing of others'.
bool Readiness::starts_fail() const {
  if (is_recent(last_start_)) return false;
  const auto failed = std::count_if(starts_.begin(), starts_.end(), [this](const auto& entry) {
    return is_recent(entry.second.failed);
  });
  return failed > 1 || (failed == 1 && starts_.size() == 1);
}

bool Readiness::database_fails() const {
  return failing_since_ && is_recent(last_failure_) && now_() - *failing_since_ >= kUnwritten;
}

}  // namespace sessions
