// Says how this hutch is started again: by clients, and by people who read what it tells.
#pragma once

#include <string>

#include "base/result.h"
#include "tools/cli/settings.h"

namespace tools::cli {

// Returns where the PATH has the program; else its name.
std::string path_of(const std::string& program, const Environment& environment);

// Returns the path of this program, as clients can start it for good: what stands in the PATH stays
// where it is when hutch is replaced.
base::Result<std::string> own_path(const Environment& environment);

// Returns the words that a person types in a shell before the name of a command: "hutch" where that
// is this program with these sessions. Else they have its path, and --state-dir where a hutch
// without flags keeps its sessions elsewhere; a path that no shell takes as it is is quoted.
std::string own_command(const Settings& settings, const Environment& environment);

// Words of sandboxes and sessions are for clients, and name their tools: returns `words` with
// commands in place of those. `command` is an own_command().
std::string in_words_of_shell(std::string words, const std::string& command = "hutch");

}  // namespace tools::cli
