// Profiles: how the interpreter of a language is started. Data, from share/hutch/profiles/*.json.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/run.h"

namespace sandbox::box {

struct Profile {
  enum class Process { kPerSession, kPerRun };
  std::vector<std::string> program;  // paths as the box sees them
  Process process = Process::kPerSession;
  bool copied = false;  // from the zygote, where the box came from one
  // Its one thread is not to wait where the pipes of its snapshots are full, or empty.
  bool state_pipes_block = true;
  std::string package;  // the Debian package that has the interpreter
  std::map<std::string, std::string> environment;
};

// Fails with kUnsupported when the host has no such interpreter; the message names the package to
// install. Where the box has an environment with an interpreter of its own, that is the program.
base::Result<Profile> load_profile(const std::string& data_directory,
                                   const std::string& environment_directory, Language language);

// Each profile is read once, when it is first asked for. A program that has gone since fails to
// start.
class Profiles {
 public:
  Profiles(std::string data_directory, std::string environment_directory)
      : data_directory_(std::move(data_directory)),
        environment_directory_(std::move(environment_directory)) {}

  base::Result<Profile> of(Language language);

 private:
  std::string data_directory_;
  std::string environment_directory_;
  std::map<Language, Profile> known_;  // by interpreter
};

// Returns the language whose profile and state this one uses: JavaScript and TypeScript share an
// interpreter.
Language interpreter_of(Language language);

}  // namespace sandbox::box
