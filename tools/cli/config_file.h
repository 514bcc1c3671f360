// The configuration file in TOML. packaging/config.toml shows every key.
#pragma once

#include <string>

#include "base/result.h"
#include "tools/cli/settings.h"

namespace tools::cli {

// Puts what the file says into `settings`. kInvalid names the line; unknown keys are errors, since
// a misspelt limit would be no limit.
base::Status read_config_file(const std::string& path, Settings& settings);

}  // namespace tools::cli
