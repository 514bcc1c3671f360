// hutch credential, hutch sessions allow and hutch audit on the command line.
#pragma once

#include "tools/cli/commands.h"

namespace CLI {
class App;
}

namespace tools::cli {

// `chosen` becomes the command that was asked for.
void add_credential(CLI::App& app, Command& chosen);
void add_allow(CLI::App& sessions, Command& chosen);
void add_audit(CLI::App& app, Command& chosen);

}  // namespace tools::cli
