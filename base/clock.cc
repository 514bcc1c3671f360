#include "base/clock.h"

#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace base {

std::int64_t now_ms() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
}

std::int64_t now_us() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
}

std::string to_rfc3339(std::int64_t at_ms) {
  const time_t seconds = static_cast<time_t>(at_ms / 1000);
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  char date[32];
  char text[48];
  (void)std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  (void)std::snprintf(text, sizeof text, "%s.%03dZ", date, static_cast<int>(at_ms % 1000));
  return text;
}

std::optional<std::int64_t> from_rfc3339(std::string_view text) {
  const std::string copy(text);
  tm parts{};
  const char* rest = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  std::int64_t milliseconds = 0;
  if (*rest == '.') {
    int digits = 0;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, ++digits) {
      if (digits < 3) milliseconds = milliseconds * 10 + (*rest - '0');
    }
    if (digits == 0) return std::nullopt;
    for (; digits < 3; ++digits) milliseconds *= 10;
  }
  std::int64_t offset_seconds = 0;
  if (*rest == 'Z' || *rest == 'z') {
    ++rest;
  } else {
    int hours = 0;
    int minutes = 0;
    int used = 0;
    if (*rest != '+' && *rest != '-') return std::nullopt;
    if (std::sscanf(rest + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2) return std::nullopt;
    offset_seconds = (hours * 60 + minutes) * 60 * (*rest == '-' ? -1 : 1);
    rest += 1 + used;
  }
  if (*rest != '\0') return std::nullopt;
  return (static_cast<std::int64_t>(::timegm(&parts)) - offset_seconds) * 1000 + milliseconds;
}

}  // namespace base
