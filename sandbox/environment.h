// Environments: trees of packages that boxes have read-only in place of the host's own. Made by
// tools/environments, which also says how a directory of them is laid out (store.py there).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace sandbox {

// Here a box has its environment. Its programs and modules name this place.
inline constexpr char kEnvironmentPlace[] = "/environment";

// A session without an environment has this template: the packages of the host's /usr.
inline constexpr char kHostTemplate[] = "host";
// A session that asks for nothing gets this environment, once it is built.
inline constexpr char kDefaultEnvironment[] = "code_interpreter";

// Returns the directory of the environment that has this name now; `directory` holds all of them.
// kNotFound names those that are there and how one is made.
base::Result<std::string> find_environment(const std::string& directory, const std::string& name);

// Returns the template of a session that asks for nothing: `configured`, unless that is empty; else
// the environment that comes with hutch, as soon as it is built, and "host" until then.
std::string usual_template(const std::string& directory, const std::string& configured);

// Returns when the environment of this name was built, milliseconds since the epoch; 0 for what is
// none.
std::int64_t named_since_ms(const std::string& directory, const std::string& name);

// Returns the names sorted, with "host".
std::vector<std::string> template_names(const std::string& directory);

// The environment is not removed while the descriptor, or a copy of it, is open (flock(2)).
base::Result<base::UniqueFd> use_environment(const std::string& environment_directory);

}  // namespace sandbox
