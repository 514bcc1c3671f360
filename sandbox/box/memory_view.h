// Keeps the box's /proc/meminfo true while runs are on: `free` and psutil tell what is used.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/fd.h"
#include "sandbox/limits.h"

namespace sandbox::box {

class MemoryView {
 public:
  // `root_fd` is the root of a box that is up, whose plan has add_machine_view().
  MemoryView(int root_fd, const Limits& limits);

  using Clock = std::chrono::steady_clock;

  // Returns whether a second has passed since it was written: what is used costs something to ask.
  [[nodiscard]] bool is_due(Clock::time_point now = Clock::now()) const;
  // Shows `used_bytes`, with `cache_bytes` in them, as Cgroup tells them.
  void show(std::int64_t used_bytes, std::int64_t cache_bytes,
            Clock::time_point now = Clock::now());

 private:
  base::UniqueFd file_;  // not valid where it cannot be opened: then all stays free
  std::int64_t total_bytes_;
  Clock::time_point shown_at_{};
};

}  // namespace sandbox::box
