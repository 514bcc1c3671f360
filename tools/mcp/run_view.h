// A run as clients see it: structuredContent, and the same as text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "sandbox/run.h"

namespace tools {

// Characters of structuredContent, printed, and of the text.
inline constexpr std::size_t kResultCharacters = 60'000;
// Stdout and stderr have at most so many together, where their beginning and end are shown.
inline constexpr std::size_t kInlineOutputCharacters = 10'000;
// Both have at most so many bytes where they are read on from an offset, in one piece.
inline constexpr std::size_t kFollowedOutputBytes = 30'000;
inline constexpr std::size_t kTracebackCharacters = 8'000;

enum class Stream { kStdout, kStderr };

struct RunView {
  std::string session_id;
  const sandbox::Run& run;
  // Bytes of a kept stream; fewer at its end.
  std::function<base::Result<std::string>(Stream, std::int64_t offset, std::size_t size)> read;
  // Reading goes on here; nothing shows the whole, or its head and tail.
  std::optional<std::int64_t> stdout_offset;
  std::optional<std::int64_t> stderr_offset;
};

// Returns {session_id, run_id, language, status, ..} as in the contract.
nlohmann::json structured_run(const RunView& view);

}  // namespace tools
