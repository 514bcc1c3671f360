// Suggestions for the argument of a prompt or of a resource template.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mcp {

inline constexpr std::size_t kCompletionsMax = 100;  // the protocol allows no more

struct CompletionQuery {
  std::string argument;
  std::string value;                         // as typed so far
  std::map<std::string, std::string> known;  // other arguments, where the client sent them
};

struct Completion {
  std::vector<std::string> values;  // beyond kCompletionsMax they are cut
  std::optional<std::int64_t> total;
};

}  // namespace mcp
