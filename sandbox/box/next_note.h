// NextNote keeps what has happened while no run was on, for the note of the next one. Pure.
//
// A session that wakes has much to tell: that comes out of a budget, which the languages that wake
// one after the other share.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace sandbox::box {

class NextNote {
 public:
  // So much is told of one waking of a session, by whichever of its languages.
  static constexpr std::size_t kWakingCharactersMost = 300;

  // Adds `what`, unless the note says it already.
  void tell(const std::string& what);
  [[nodiscard]] bool is_empty() const { return note_.empty(); }
  // Returns the note, once. It comes out of the waking's budget.
  [[nodiscard]] std::string take();

  // Takes what a run is told beside the note out of the waking's budget.
  void count(const std::string& said);
  // The budget is whole again: what wakes from here on tells all of it.
  void begin_anew() { waking_left_ = kWakingCharactersMost; }
  // Returns the runner's message "done" with what its note says of the waking cut to a fair part of
  // the budget, where `tell` languages have something to tell, this one with them.
  [[nodiscard]] nlohmann::json with_short_waking(nlohmann::json done, std::size_t tell);

 private:
  std::string note_;
  std::size_t waking_left_ = kWakingCharactersMost;
};

}  // namespace sandbox::box
