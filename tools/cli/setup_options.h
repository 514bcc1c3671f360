// hutch setup on the command line.
#pragma once

#include "tools/cli/commands.h"

namespace CLI {
class App;
}

namespace tools::cli {

// `chosen` becomes the command that was asked for.
void add_setup(CLI::App& app, Command& chosen);

}  // namespace tools::cli
