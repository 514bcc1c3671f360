// The authorization server that the configuration names.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "mcp/auth/resource_server.h"
#include "tools/cli/settings.h"

namespace tools::cli {

// Fails with kInvalid, which names the key of [oauth] that is wrong or missing.
base::Result<std::shared_ptr<mcp::auth::ResourceServer>> make_resource_server(
    const OauthSettings& settings, std::function<void(const std::string& what)> on_fault);

}  // namespace tools::cli
