// Scopes say what a token may do. A token without scopes may do everything its principal may.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace tools {

// Tools that change nothing, and only those.
inline constexpr const char* kScopeRead = "read";
// /metrics, which tells of all principals together; a token with it may do nothing else.
inline constexpr const char* kScopeMetrics = "metrics";

inline constexpr const char* kMayOnlyRead =
    "the token of this client may only read; hutch token create without --scope makes one that may "
    "do this";

inline constexpr const char* kMayOnlySeeMetrics =
    "the token of this client is for /metrics alone; hutch token create without --scope makes one "
    "that may do this";

inline constexpr const char* kMayNotSeeMetrics =
    "/metrics tells of all principals, and takes a token for that alone: hutch token create "
    "--scope "
    "metrics makes one";

inline bool may_change(const std::vector<std::string>& scopes) { return scopes.empty(); }

inline bool may_see_metrics(const std::vector<std::string>& scopes) {
  return std::find(scopes.begin(), scopes.end(), kScopeMetrics) != scopes.end();
}

inline bool may_read(const std::vector<std::string>& scopes) { return !may_see_metrics(scopes); }

}  // namespace tools
