// Translates the config of a sandbox of Agentcop into the words of sessions.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "sandbox/limits.h"
#include "sessions/quotas.h"
#include "sessions/session_options.h"

namespace tools::api {

// `config` is an object, or null. kInvalid names the member that is wrong.
base::Result<sessions::SessionOptions> options_of_config(const nlohmann::json& config,
                                                         const sessions::Quotas& quotas);

}  // namespace tools::api
