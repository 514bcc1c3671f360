// A sandbox as clients of Sandbase and of E2B see it: a session that ends with its timeout.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "sessions/session.h"
#include "sessions/session_state.h"
#include "tools/tools.h"

namespace tools::api {

// Returns the view for Sandbase. Without an end there is neither `timeout` nor `endAt`.
nlohmann::json sandbox_view(const sessions::SessionState& state);

namespace e2b {

// Names the version of envd that is served: the SDKs ask for no more than it had.
inline constexpr const char* kEnvdVersion = "0.6.4";
inline constexpr std::int64_t kLifetimeSecondsMax = 86400;

// Returns the view for E2B, with the tokens that let in to the sandbox. Their SDKs know none
// without an end: `endAt` is far away then.
base::Result<nlohmann::json> sandbox_view(const Services& services,
                                          const sessions::Session& session);
std::string end_of_endless(const sessions::Session& session);

}  // namespace e2b
}  // namespace tools::api
