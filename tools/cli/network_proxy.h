// The proxy of this machine's network, as the configuration has it, or the variables that other
// programs read.
#pragma once

#include "base/result.h"
#include "sandbox/network_proxy.h"
#include "tools/cli/settings.h"

namespace tools::cli {

// Returns the proxy; its host is empty where there is none. The configuration goes before
// $https_proxy and $no_proxy, in either case. Fails with kInvalid where the proxy of the
// configuration cannot be used; one of a variable is then left out and logged, as a warning where
// hosts are allowed.
base::Result<sandbox::NetworkProxy> network_proxy(const Settings& settings,
                                                  const Environment& environment);

}  // namespace tools::cli
