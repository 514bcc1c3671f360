// Advice is given by the server. Lower layers, a box and hutch-egress, say what is lacking; they
// know neither what else the configuration would allow nor how this hutch is started.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "sandbox/limits.h"
#include "sandbox/run.h"
#include "sessions/grants.h"
#include "tools/tools.h"

namespace tools {

struct AdviceFacts {
  const sessions::GrantedNetwork& network;  // the server's, not the session's
  std::string command;                      // Services::command
  std::string session_id;
  std::optional<sandbox::Limits> limits;  // the session's, where it is known
  sandbox::Limits most_limits;            // that any session may have
};

// Adds the advice that a run needs to its note and to the reasons of its refusals: the caller's own
// way where there is one, and none that would be refused.
void fit_advice(const AdviceFacts& facts, sandbox::Run& run);
// Does so with what the services know.
void fit_advice(const Services& services, const std::string& session_id, sandbox::Run& run);
// Returns whether it needs any.
bool has_advice(const sandbox::Run& run);

// Returns the failure of a tool, with the folders that a session may ask for where one is lacking.
base::Error with_own_way(base::Error error, const sessions::GrantedFolders& folders);

// Returns what is said of a session without a network, and how it comes to one: the operator's
// `command`, unless there is another `way`.
std::string note_of_no_network(const std::string& session_id, const std::string& command,
                               const std::string& way = "");

// Returns how a session without it comes to what `name` stands for in network.allow, where the
// configuration allows that. No id: the session is not there yet.
std::string own_way(const std::string& name, const std::string& session_id,
                    const std::string& command);

}  // namespace tools
