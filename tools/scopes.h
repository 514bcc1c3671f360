// What a token may do. One without scopes may do everything its principal may.
#pragma once

#include <string>
#include <vector>

namespace tools {

// Tools that change nothing, and only those.
inline constexpr const char* kScopeRead = "read";

inline constexpr const char* kMayOnlyRead =
    "the token of this client may only read; hutch token create without --scope makes one that may "
    "do this";

inline bool may_change(const std::vector<std::string>& scopes) { return scopes.empty(); }

}  // namespace tools
