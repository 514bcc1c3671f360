// hutch shell, forward, logs, cp and share on the command line.
#pragma once

#include "tools/cli/commands.h"

namespace CLI {
class App;
}

namespace tools::cli {

// Returns a command that needs the whole application.
Command with_application(std::function<base::Result<int>(Application&)> body);

// `chosen` becomes the command that was asked for.
void add_work_in_sessions(CLI::App& app, Command& chosen);
void add_share(CLI::App& app, Command& chosen);

}  // namespace tools::cli
