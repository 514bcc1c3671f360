#include "base/clock.h"
#include "base/text.h"
#include "sessions/grants.h"
#include "sessions/manager_config.h"
#include "sessions/sealing_key_table.h"
#include "tools/languages.h"
#include "tools/mcp/change_watch.h"
#include "tools/mcp/run_tasks.h"
#include "tools/mcp/sandbox_resources.h"
#include "tools/mcp/tool_kit.h"
#include "tools/tools.h"

namespace tools {

namespace {

// Returns the keys of the database: another server can go on with what one has asked a client.
// Returns none, and reports a fault, where they cannot be read.
std::vector<mcp::StateKey> state_keys(const mcp::Server& server, sessions::SealingKeyTable& table) {
  std::vector<mcp::StateKey> keys;
  const auto kept = table.newest(base::now_ms());
  if (!kept.ok()) {
    server.report_fault("keys for the state of requests: " + kept.error().message);
    return keys;
  }
  for (const std::string& digits : kept.value()) {
    if (const auto key = mcp::parse_state_key(digits)) keys.push_back(*key);
  }
  return keys;
}

}  // namespace

Offer::Offer(mcp::Server& server, Services services) {
  services.changes = &server.changes();
  for (mcp::Tool& tool : run_tools(services)) server.add_tool(std::move(tool));
  for (mcp::Tool& tool : file_tools(services)) server.add_tool(std::move(tool));
  server.add_tool(share_tool(services));
  server.add_tool(share_port(services));
  server.add_tool(install_tool(services));
  for (mcp::Tool& tool : session_tools(services)) server.add_tool(std::move(tool));
  for (mcp::Prompt& prompt : prompts(services)) server.add_prompt(std::move(prompt));
  watch_ = std::make_unique<ChangeWatch>(services, server.changes());
  resources_ = std::make_unique<SandboxResources>(services, *watch_);
  tasks_ = std::make_unique<RunTasks>(services, *watch_);
  server.set_resources(*resources_);
  server.set_tasks(*tasks_);
  server.use_state_keys(
      [&server, &table = services.sealing_keys] { return state_keys(server, table); });
}

Offer::~Offer() = default;

namespace {

std::string words_of(const sessions::GrantedNetwork& network) {
  std::string list;
  for (const auto& [name, hosts] : network.sets) base::append_part(list, name);
  for (const sandbox::NetworkRule& rule : network.hosts) {
    base::append_part(list, text_of(rule));
  }
  std::string added = base::join(network.credentials);
  if (!added.empty()) {
    added = " Credentials are added to requests on their way, send none: " + added + ".";
    if (!network.unasked) added += " Name them in network.credentials.";
  }
  if (list.empty() && added.empty()) return "There is no network but loopback.";
  if (list.empty()) return "Of the network only hosts with a credential can be reached." + added;
  const std::string packages =
      network.sets.contains("packages") ? " (install_packages, pip, npm work)" : "";
  return network.unasked
             ? "Of the network only this can be reached: " + list + packages + "." + added
             : "create_session's network.allow can have: " + list + packages + "." + added;
}

}  // namespace

std::string instructions(const sessions::ManagerConfig& config) {
  const sessions::GrantedFolders& folders = config.folders;
  std::string text =
      "A Linux computer of your own. run_code runs " + words_of_languages(languages_there(config)) +
      "; "
      "variables, imports and tables stay from call to call, and the last expression's value is "
      "shown. Files live in /workspace (the working directory) and are kept. " +
      words_of(config.network) +
      " A run still going after 50 s comes back as status running: follow "
      "it with get_run. Servers and other long work: background: true. Figures come back as "
      "images. Give files to the user with share_file, servers with share_port. Results name their "
      "session_id: pass it "
      "on to go on in the same session. Unrelated work: create_session.";
  std::string list;
  for (const sandbox::HostFolder& folder : folders.all) {
    base::append_part(list, sandbox::place_of(folder) + (folder.writable ? "" : " (read-only)"));
  }
  if (list.empty()) return text;
  return text +
         (folders.unasked ? " Folders of the user's machine: "
                          : " Folders that create_session can give: ") +
         list + ". There, .git and what programs obey stay read-only, and no Unix sockets open.";
}

}  // namespace tools
