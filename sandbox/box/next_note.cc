#include "sandbox/box/next_note.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/shortened_text.h"
#include "base/text.h"

namespace sandbox::box {
namespace {

constexpr std::string_view kAnd = " and ";
constexpr std::string_view kMore = " more: `hutch sessions show`";  // as runners end it

// Returns where items of such a note end, but for the last: none is in parentheses.
std::vector<std::size_t> ends_of_items(std::string_view said) {
  std::vector<std::size_t> ends;
  int depth = 0;
  for (std::size_t at = 0; at + 1 < said.size(); ++at) {
    if (said[at] == '(') ++depth;
    if (said[at] == ')') depth = std::max(depth - 1, 0);
    const bool is_end = (said[at] == ',' || said[at] == ';') && said[at + 1] == ' ';
    if (is_end && depth == 0) ends.push_back(at);
  }
  return ends;
}

// Takes from the end of a note, and returns, how many items its runner has left out.
std::size_t take_left_out(std::string& said) {
  const std::size_t place = said.rfind(kAnd);
  if (!said.ends_with(kMore) || place == std::string::npos) return 0;
  std::size_t count = 0;
  const char* const begin = said.data() + place + kAnd.size();
  const auto read = std::from_chars(begin, said.data() + said.size() - kMore.size(), count);
  if (read.ec == std::errc()) said.resize(place);
  return count;
}

// As many of its items as `most` characters have room for, each of them whole.
std::string shortened_note(std::string said, std::size_t most) {
  if (base::printed_characters(said) <= most) return said;
  const std::string whole = said;
  const std::size_t left_out = take_left_out(said);
  const std::vector<std::size_t> ends = ends_of_items(said);
  for (std::size_t at = ends.size(); at > 0; --at) {
    const std::size_t more = ends.size() - at + 1 + left_out;
    if (at == 1 && said[ends[0]] == ';') {  // it says only how much is back
      return said.substr(0, ends[0]) + "; not kept: " + std::to_string(more) +
             " values and other things: `hutch sessions show`";
    }
    std::string shown = said.substr(0, ends[at - 1]);
    shown.append(kAnd).append(std::to_string(more)).append(kMore);
    if (base::printed_characters(shown) <= most) return shown;
  }
  constexpr std::string_view kCut = "...";
  return whole.substr(0, base::printed_prefix(whole, most - kCut.size())).append(kCut);
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
  const std::string said = base::string_or(done, "of_state");
  const std::string note = base::string_or(done, "note");
  constexpr std::size_t kOfRunnersMost = 4000;  // They say no more, but for code that plays one.
  if (said.empty() || said.size() > kOfRunnersMost || !note.starts_with(said)) return done;
  const std::string shown = shortened_note(said, most);
  waking_left_ -= std::min(waking_left_, base::printed_characters(shown));
  done["note"] = shown + note.substr(said.size());
  return done;
}

}  // namespace sandbox::box
