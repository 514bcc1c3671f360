// The MCP clients that hutch knows, where they keep their configuration, and how an entry looks
// there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/setup/document.h"

namespace tools::setup {

struct Client {
  std::string id;     // "claude-code"
  std::string title;  // "Claude Code"
  std::string file;   // absolute; need not be there
  Format format = Format::kJson;
  Keys keys;              // lead to the map that its servers are in
  std::string entry;      // as it would be written for hutch: JSON, its names in order
  std::string next;       // a step left to whoever uses it
  bool is_there = false;  // signs of it are on this machine
};

// Holds the places of a user, and of the Windows that this Linux runs in.
struct Places {
  std::string home;
  std::string config;                // XDG_CONFIG_HOME, or ~/.config
  std::string search_path;           // PATH
  std::string windows_profile = {};  // /mnt/c/Users/NAME; empty: no Windows around
  std::string distribution = {};     // this Linux in WSL, as Windows calls it
  // Reads a variable of the environment: some clients keep their files where it says.
  std::function<std::string(const std::string& name)> variable = [](const std::string&) {
    return std::string();
  };
};

// Returns the profile of Windows that is seen from here, where just one in `users` has
// AppData/Roaming and can be written; else "".
std::string windows_profile(const std::string& users = "/mnt/c/Users");

// Returns the clients of the table. `words` are the command that starts hutch for a client, and its
// arguments. Clients of Windows, with "-windows" behind their id, start it through wsl.exe.
// kInvalid: the table is broken.
base::Result<std::vector<Client>> known_clients(const std::string& table_file, const Places& places,
                                                const std::vector<std::string>& words);

// Returns the command and the arguments that an entry names, in whatever way; empty for what is
// none.
std::vector<std::string> words_of_entry(const nlohmann::json& entry);

}  // namespace tools::setup
