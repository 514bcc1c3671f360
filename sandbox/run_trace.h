// When a run passed the places between the call that asked for it and its record, so that somebody
// who looks at one run sees where its time went.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace sandbox {

// In the order in which a run passes them; a record names them by their number.
enum class Hop {
  kCalled,
  kStarted,
  kBoxFound,
  kSubmitted,
  kAccepted,
  kBegun,
  kProcessStarted,
  kSent,
  kCodeBegun,
  kFirstOutput,
  kCodeEnded,
  kDone,
  kRecorded,
  kSeen,
};
inline constexpr std::size_t kHops = 14;

struct HopWords {
  const char* process;  // hutch, hutch-box or interpreter
  const char* words;
};
HopWords words_of(Hop hop);

class RunTrace {
 public:
  // Takes the first time that the run was there, in microseconds since the epoch; without one, now.
  void mark(Hop hop);
  void mark(Hop hop, std::int64_t at_us);

  [[nodiscard]] std::optional<std::int64_t> at_us(Hop hop) const;
  [[nodiscard]] bool empty() const;

  // Returns the first time and, for each hop, the microseconds since then, or null.
  [[nodiscard]] nlohmann::json to_json() const;
  // Reads a trace that a box may have written: anything that is no part of one is left out.
  static RunTrace from_json(const nlohmann::json& value);

 private:
  std::array<std::int64_t, kHops> at_us_{};  // 0: not yet
};

}  // namespace sandbox
