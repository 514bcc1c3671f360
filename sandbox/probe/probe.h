// Tells what this host offers a sandbox, layer by layer, in plain words, and how to turn on what is
// missing.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "sandbox/enforcement.h"

namespace sandbox::probe {

struct Finding {
  // kWeaker says that sessions start, but something holds less well or a language is not there,
  // kMissing that no session can start.
  enum class State { kGood, kWeaker, kMissing };
  std::string layer;
  State state = State::kGood;
  std::string detail;  // the finding and its meaning
  std::string remedy;  // a way to mend it; empty when there is nothing to do
  // Says how firmly it holds, where the layer is a limit of sessions.
  std::optional<Level> level = std::nullopt;
  // Python's packages that the layer is about were all found; false, too, where it is about none.
  bool has_packages = false;
};

// HostPaths say where to look; tests look elsewhere.
struct HostPaths {
  std::string root;             // in front of every path that is read; cgroups are tried below it
  std::string state_directory;  // hutch's own, or where it is to be made; empty: not looked at
  std::optional<uid_t> uid;     // as whom hutch runs; our own unless given
  // These two are the caller's: people have interpreters there that sessions do not see. Empty: not
  // looked at.
  std::string search_path;  // PATH
  std::string home;         // HOME
  // Sessions have this environment in place of the host's packages; empty: they have those.
  std::string environment_directory;
};

// Looks at kernel calls, settings, cgroups and interpreters: by trying where that is cheap, else by
// reading. Starts nothing, changes nothing but an empty cgroup made and removed. The whole proof is
// a box that starts, which the caller adds. Safe from many threads.
std::vector<Finding> probe_host(const HostPaths& paths);

// Writes one line a finding, a second one with its remedy, aligned; with colours for a terminal.
std::string render_table(const std::vector<Finding>& findings, bool colours);

// Returns an array of {"layer", "state", "detail", "remedy"}, of limits with "level" too.
std::string to_json(const std::vector<Finding>& findings);

// Returns good, weaker or missing.
const char* name_of(Finding::State state);

}  // namespace sandbox::probe
