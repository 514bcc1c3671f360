// Networks of sandboxes as E2B's clients wish for them, in the words of hutch.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "sessions/grants.h"
#include "sessions/network_choice.h"

namespace tools::api::e2b {

// Returns the wish for all that the operator allows, where `is_open` says so, or for what of that
// `given` names. Fails with kUnsupported for members that are not served.
base::Result<sessions::NetworkWish> network_in(const nlohmann::json& given, bool is_open,
                                               const sessions::GrantedNetwork& granted);

// Returns what a sandbox's servers are to find as Host, if the client says. Fails with kInvalid for
// more than letters, digits and what stands between them, so that no header ends in it.
base::Result<std::optional<std::string>> host_in(const nlohmann::json& network);

}  // namespace tools::api::e2b
