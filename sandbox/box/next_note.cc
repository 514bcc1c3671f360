#include "sandbox/box/next_note.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/shortened_text.h"
#include "base/text.h"

namespace sandbox::box {

void NextNote::tell(const std::string& what) {
  if (note_.find(what) != std::string::npos) return;
  base::append_part(note_, what, "; ");
}

std::string NextNote::take() {
  count(note_);
  return std::exchange(note_, "");
}

void NextNote::count(const std::string& said) {
  waking_left_ -= std::min(said.size(), waking_left_ / 2);
}

// The first language that wakes leaves their part to those that have not told anything yet.
nlohmann::json NextNote::with_short_waking(nlohmann::json done, std::size_t tell) {
  constexpr std::size_t kOfEachLeast = 100;
  const std::size_t most = std::max(waking_left_ / tell, kOfEachLeast);
  const std::string said = base::string_or(done, "of_state");
  const std::string note = base::string_or(done, "note");
  if (said.empty() || !note.starts_with(said)) return done;
  std::string shown = said;
  if (base::printed_characters(said) > most) {
    constexpr std::string_view kMore = "...";
    shown = said.substr(0, base::printed_prefix(said, most - kMore.size()));
    shown += kMore;
  }
  waking_left_ -= std::min(waking_left_, base::printed_characters(shown));
  done["note"] = shown + note.substr(said.size());
  return done;
}

}  // namespace sandbox::box
