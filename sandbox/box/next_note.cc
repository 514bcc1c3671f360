#include "sandbox/box/next_note.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/shortened_text.h"
#include "base/text.h"

namespace sandbox::box {
namespace {

// A Waking is what a runner's note says of stored variables, in the pieces that it was made of. It
// is hostile, as all that a runner says.
struct Waking {
  std::string back;                // how much is back
  std::vector<std::string> lacks;  // and what is not, each with the words in front of it
  std::int64_t more = 0;           // how many others are not named
};

std::optional<Waking> waking_in(const nlohmann::json& done) {
  const auto said = done.find("of_state");
  if (said == done.end() || !said->is_object()) return std::nullopt;
  Waking waking{base::string_or(*said, "back"), {}, base::integer_or(*said, "more", 0)};
  const nlohmann::json lacks = said->value("lacks", nlohmann::json::array());
  // Runners name fewer, but for code that plays one.
  constexpr std::size_t kLacksMost = 100;
  constexpr std::int64_t kMoreMost = 1'000'000'000;
  if (lacks.size() > kLacksMost || waking.more < 0 || waking.more > kMoreMost) return std::nullopt;
  for (const nlohmann::json& lack : lacks) {
    if (!lack.is_string()) return std::nullopt;
    waking.lacks.push_back(lack.get<std::string>());
  }
  return waking;
}

// Returns the words for it, with the first `count` lacks.
std::string in_words(const Waking& waking, std::size_t count) {
  const auto more = static_cast<std::int64_t>(waking.lacks.size() - count) + waking.more;
  std::string said = waking.back;
  if (count == 0 && !waking.lacks.empty()) {
    return said + "; not kept: " + std::to_string(more) +
           " values and other things: `hutch sessions show`";
  }
  for (std::size_t at = 0; at < count; ++at) said += waking.lacks[at];
  if (more > 0) said += " and " + std::to_string(more) + " more: `hutch sessions show`";
  return said;
}

// Returns as many of its lacks as `most` characters have room for, each of them whole.
std::string shortened(const Waking& waking, std::size_t most) {
  for (std::size_t count = waking.lacks.size(); count > 0; --count) {
    std::string said = in_words(waking, count);
    if (base::printed_characters(said) <= most) return said;
  }
  if (!waking.lacks.empty() && !waking.back.empty()) return in_words(waking, 0);
  std::string said = in_words(waking, waking.lacks.size());
  constexpr std::string_view kCut = "...";
  if (base::printed_characters(said) <= most) return said;
  return said.substr(0, base::printed_prefix(said, most - kCut.size())).append(kCut);
}

}  // namespace

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
  const std::optional<Waking> waking = waking_in(done);
  if (!waking) return done;
  const std::string said = in_words(*waking, waking->lacks.size());
  const std::string note = base::string_or(done, "note");
  constexpr std::size_t kOfRunnersMost = 4000;  // They say no more, but for code that plays one.
  if (said.empty() || said.size() > kOfRunnersMost || !note.starts_with(said)) return done;
  const std::string shown = shortened(*waking, most);
  waking_left_ -= std::min(waking_left_, base::printed_characters(shown));
  done["note"] = shown + note.substr(said.size());
  return done;
}

}  // namespace sandbox::box
