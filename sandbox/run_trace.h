// When a run passed the places between the call that asked for it and its record, so that somebody
// who looks at one run sees where its time went.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace sandbox {

// Hops are in the order in which a run passes them; a record names them by their number. A comment
// says at which moment the time is taken.
enum class Hop {
  kCalled,          // the server has read the call, which may have to wait for a thread yet
  kStarted,         // its session is there, and Runs::start of the server begins
  kBoxFound,        // Boxes::box_of has returned
  kSubmitted,       // its row is in the database
  kAccepted,        // Runs::submit of hutch-box has found that there is room for it
  kBegun,           // no earlier run has its interpreter any more
  kProcessStarted,  // pid 1 has forked a process for it
  kSent,            // its frame is in the channel of its interpreter
  kCodeBegun,       // just before its code, by the interpreter's clock and word
  kFirstOutput,     // hutch-box has seen something that it printed or showed
  kCodeEnded,       // just behind its code, by the interpreter's clock and word
  kDone,            // hutch-box has heard of its end
  kRecorded,        // its record is about to be written
  kSeen,            // the server knows its end, which is about to be written into its row
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
  void mark(Hop hop, std::chrono::steady_clock::time_point at);

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
