#include "sandbox/run_trace.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace sandbox {

using nlohmann::json;

namespace {

// A time beyond the year 2200, or a run that took longer, is none.
constexpr std::int64_t kLastUs = 7'258'118'400'000'000;

constexpr std::array<HopWords, kHops> kWords{{
    {"hutch", "the call came in"},
    {"hutch", "its session was found"},
    {"hutch", "its box was found, or started"},
    {"hutch", "its row was written"},
    {"hutch-box", "the run was accepted"},
    {"hutch-box", "its turn came"},
    {"hutch-box", "a process was started for it"},
    {"hutch-box", "its code was sent"},
    {"interpreter", "the code began"},
    {"hutch-box", "its first output came"},
    {"interpreter", "the code ended"},
    {"hutch-box", "its end was heard of"},
    {"hutch-box", "changed files were found; the record is about to be written"},
    {"hutch", "the end was seen; its row is about to be written"},
}};

std::size_t index_of(Hop hop) { return static_cast<std::size_t>(hop); }

std::optional<std::int64_t> microseconds(const json& value) {
  if (!value.is_number_integer() || value < -kLastUs || value > kLastUs) return std::nullopt;
  return value.get<std::int64_t>();
}

}  // namespace

HopWords words_of(Hop hop) { return kWords.at(index_of(hop)); }

void RunTrace::mark(Hop hop) { mark(hop, base::now_us()); }

void RunTrace::mark(Hop hop, std::int64_t at_us) {
  std::int64_t& known = at_us_.at(index_of(hop));
  if (known == 0) known = at_us;
}

void RunTrace::mark(Hop hop, std::chrono::steady_clock::time_point at) {
  const auto ago = std::chrono::steady_clock::now() - at;
  mark(hop, base::now_us() - std::chrono::duration_cast<std::chrono::microseconds>(ago).count());
}

std::optional<std::int64_t> RunTrace::at_us(Hop hop) const {
  const std::int64_t at = at_us_.at(index_of(hop));
  return at == 0 ? std::nullopt : std::optional(at);
}

bool RunTrace::empty() const {
  return std::all_of(at_us_.begin(), at_us_.end(), [](std::int64_t at) { return at == 0; });
}

json RunTrace::to_json() const {
  const auto first =
      std::find_if(at_us_.begin(), at_us_.end(), [](std::int64_t at) { return at != 0; });
  if (first == at_us_.end()) return json::array();
  json value = json::array({*first});
  for (const std::int64_t at : at_us_) value.push_back(at == 0 ? json() : json(at - *first));
  return value;
}

RunTrace RunTrace::from_json(const json& value) {
  RunTrace trace;
  if (!value.is_array() || value.empty()) return trace;
  const auto first = microseconds(value[0]);
  for (std::size_t hop = 0; first && hop < kHops && hop + 1 < value.size(); ++hop) {
    const auto since = microseconds(value[hop + 1]);
    if (since && *first + *since > 0 && *first + *since <= kLastUs) {
      trace.at_us_.at(hop) = *first + *since;
    }
  }
  return trace;
}

}  // namespace sandbox
