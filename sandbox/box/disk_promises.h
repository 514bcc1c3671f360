// Room of a session's disk that writers outside were promised and that no look has counted yet.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace sandbox::box {

// A look settles a promise only when its file was written before the look began: any other file
// may have come where the look had been already. Pure: no kernel, no clock.
class DiskPromises {
 public:
  using Clock = std::chrono::steady_clock;
  // Writers that have not told for so long are gone: their server was killed.
  static constexpr std::chrono::minutes kWritingMost{1};

  [[nodiscard]] std::int64_t bytes() const;

  void add(std::int64_t bytes, Clock::time_point now);
  // A promise of so many bytes is written to, or will not be: it does not matter which one of that
  // size.
  void written(std::int64_t bytes);
  void all_written();

  void look_begins(Clock::time_point now);
  // Drops what was written when the look began. One that was cut short has counted nothing.
  void look_has_counted();

 private:
  struct Promise {
    std::int64_t bytes = 0;
    Clock::time_point made;
    bool is_written = false;
    bool is_seen = false;  // by the look that is on
  };
  std::vector<Promise> promises_;  // oldest first
};

}  // namespace sandbox::box
