// The tools of hutch, and what else it offers: where MCP words meet sandbox words.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "mcp/server.h"
#include "sessions/manager_config.h"
#include "sessions/services.h"
#include "share/file_share.h"
#include "share/share_folder.h"

namespace tools {

// Holds what the tools work with. All outlive the server.
struct Services : sessions::Services {
  share::FileShare& share;
  std::string session_name;         // the default session of every connection; empty: one each
  std::stop_token draining = {};    // the server is to stop: calls hand over what goes on
  mcp::Changes* changes = nullptr;  // to be told of a new share or output; null: nobody is
  // Returns what links to files begin with. Empty, or null itself: no server is reached by links.
  std::function<std::string()> public_url = nullptr;
  // This is the folder of the person at this machine, who is the client. Null: clients may be on
  // other machines, and are told no path of this one.
  const share::ShareFolder* folder = nullptr;
  // These are the words by which a person starts this hutch in a shell: where clients may be on
  // other machines, its name alone, since they are told no path of this one.
  std::string command = "hutch";
  bool public_ports = false;  // sessions made for it let in whoever knows an address
};

// Tells the model what this computer is and how to work with it, and what of the host's folders and
// network it can have.
std::string instructions(const sessions::ManagerConfig& config);

class ChangeWatch;
class RunTasks;
class SandboxResources;

// An Offer is everything the server offers: tools in their fixed order, prompts, resources, tasks.
// It is added before the first connection, and lives until the last one has gone.
class Offer {
 public:
  Offer(mcp::Server& server, Services services);
  ~Offer();
  Offer(const Offer&) = delete;
  Offer& operator=(const Offer&) = delete;

 private:
  std::unique_ptr<ChangeWatch> watch_;
  std::unique_ptr<SandboxResources> resources_;
  std::unique_ptr<RunTasks> tasks_;
};

}  // namespace tools
