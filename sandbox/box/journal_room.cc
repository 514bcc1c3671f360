#include "sandbox/box/journal_room.h"

#include <algorithm>
#include <chrono>

namespace sandbox::box {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookWhenFull{20};
constexpr milliseconds kLook{500};
constexpr int kLookSeldomest = 10;  // times as seldom, where nobody comes
// A call that was not heard: the server was starting, or its queue was full.
constexpr int kLooksPerCall = 10;

}  // namespace

std::int64_t JournalRoom::bytes_most(const Around& around) {
  if (around.is_served) return kBytesMost;
  if (around.is_quota_used_up) return *around.is_quota_used_up ? kBytesMost : kBytesMostAlone;
  return std::clamp(around.journal_bytes + around.disk_left_bytes, kBytesMost, kBytesMostAlone);
}

void JournalRoom::look() {
  const bool was_held = is_held_;
  hold(is_full());
  if (is_held_ && !was_held) loop_.cancel(timer_);  // it looked less often
  if (timer_ != 0 || !(is_half_full() || is_held_)) return;
  looks_ = 0;
  actions_.call();
  timer_ = loop_.after(is_held_ ? kLookWhenFull : kLook, [this] { look_again(); });
}

void JournalRoom::look_again() {
  timer_ = 0;
  journal_.look_again();
  hold(is_full());
  if (!is_half_full() && !is_held_) return;
  ++looks_;
  if (!is_held_ || looks_ % kLooksPerCall == 0) actions_.call();
  timer_ = loop_.after(is_held_ ? kLookWhenFull : kLook * std::min(looks_, kLookSeldomest),
                       [this] { look_again(); });
}

bool JournalRoom::is_half_full() const { return journal_.bytes() >= kBytesMost / 2; }

bool JournalRoom::is_full() const {
  return journal_.is_stuck() || (is_half_full() && journal_.bytes() >= actions_.most());
}

void JournalRoom::hold(bool is_held) {
  if (is_held == is_held_) return;
  is_held_ = is_held;
  actions_.hold_door(is_held);
}

}  // namespace sandbox::box
