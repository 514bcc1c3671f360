// Advice is fitted to the server that gives it. The words come from lower layers, from a box and
// from hutch-egress, which know neither what else the configuration would allow nor how this hutch
// is started.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sandbox/limits.h"
#include "sandbox/run.h"
#include "sessions/grants.h"
#include "tools/tools.h"

namespace tools {

struct AdviceFacts {
  const sessions::GrantedNetwork& network;  // of the server, not of the session
  std::string command;                      // Services::command
  std::string session_id;
  sandbox::Limits limits;            // of the session
  sandbox::Limits most_limits;       // that any session may have
  std::int64_t longest_seconds = 0;  // that a run of the session may ask for
};

// Has the caller's own way where there is one, and no advice that would be refused.
void fit_advice(const AdviceFacts& facts, sandbox::Run& run);
// Does so with what the services know. Leaves the run as it is where there is no such session.
void fit_advice(const Services& services, const std::string& session_id, sandbox::Run& run);
// Returns whether there is anything to fit.
bool has_advice(const sandbox::Run& run);

// Returns the failure of a tool, with the folders that a session may ask for where its words send
// the caller to whoever runs hutch.
base::Error with_own_way(base::Error error, const sessions::GrantedFolders& folders);

// Returns words of a box with `command` in the place of "hutch", as whoever types it needs it.
std::string with_command(std::string words, const std::string& command);

// Returns how a session without it comes to what `name` stands for in network.allow, where the
// configuration allows that. No id: the session is not there yet.
std::string own_way(const std::string& name, const std::string& session_id,
                    const std::string& command);

}  // namespace tools
