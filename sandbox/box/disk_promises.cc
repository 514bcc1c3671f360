#include "sandbox/box/disk_promises.h"

#include <algorithm>
#include <numeric>

namespace sandbox::box {

std::int64_t DiskPromises::bytes() const {
  return std::accumulate(
      promises_.begin(), promises_.end(), std::int64_t{0},
      [](std::int64_t sum, const Promise& promise) { return sum + promise.bytes; });
}

void DiskPromises::add(std::int64_t bytes, Clock::time_point now) {
  promises_.push_back({.bytes = bytes, .made = now});
}

void DiskPromises::written(std::int64_t bytes) {
  const auto found = std::find_if(promises_.begin(), promises_.end(), [bytes](const Promise& one) {
    return one.bytes == bytes && !one.is_written;
  });
  if (found != promises_.end()) found->is_written = true;
}

void DiskPromises::all_written() {
  for (Promise& promise : promises_) promise.is_written = true;
}

void DiskPromises::look_begins(Clock::time_point now) {
  for (Promise& promise : promises_) {
    promise.is_seen = promise.is_written || now - promise.made >= kWritingMost;
  }
}

void DiskPromises::look_has_counted() {
  std::erase_if(promises_, [](const Promise& promise) { return promise.is_seen; });
}

}  // namespace sandbox::box
