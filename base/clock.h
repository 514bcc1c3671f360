// Wall-clock time as hutch stores and shows it, since the epoch, UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace base {

std::int64_t now_ms();
std::int64_t now_us();

// Returns RFC 3339 with milliseconds: "2026-01-31T12:00:00.000Z".
std::string to_rfc3339(std::int64_t at_ms);

// Accepts RFC 3339 with an offset or Z; nothing else.
std::optional<std::int64_t> from_rfc3339(std::string_view text);

}  // namespace base
