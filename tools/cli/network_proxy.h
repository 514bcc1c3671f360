// The proxy of this machine's network, as the configuration has it, or the variables that other
// programs read.
#pragma once

#include "sandbox/base/result.h"
#include "sandbox/network_proxy.h"
#include "tools/cli/settings.h"

namespace tools::cli {

// What is in the configuration goes before $https_proxy and $no_proxy, in either case. kInvalid:
// the configuration has one that is none. One of a variable that cannot be used is warned of.
base::Result<sandbox::NetworkProxy> network_proxy(const Settings& settings,
                                                  const Environment& environment);

}  // namespace tools::cli
