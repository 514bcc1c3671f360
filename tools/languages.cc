#include "tools/languages.h"

#include <unistd.h>

#include "sandbox/environment.h"
#include "sessions/manager_config.h"

namespace tools {
namespace {

struct Row {
  const char* name;
  const char* title;
  const char* program;
};

// SQL is run by Python.
constexpr Row kRows[] = {{"python", "Python", "/usr/bin/python3"},
                         {"javascript", "JavaScript", "/usr/bin/node"},
                         {"typescript", "TypeScript", "/usr/bin/node"},
                         {"sql", "SQL", "/usr/bin/python3"},
                         {"bash", "bash", "/bin/bash"}};

bool is_there(const std::string& program) { return ::access(program.c_str(), X_OK) == 0; }

}  // namespace

std::vector<std::string> languages_there(const sessions::ManagerConfig& config) {
  const auto environment = sandbox::find_environment(
      config.environments_directory,
      sandbox::usual_template(config.environments_directory, config.usual_template));
  // Programs of Debian that an environment brings lie over the machine's.
  const std::string own = environment.ok() ? environment.value() + "/debian" : "";
  std::vector<std::string> there;
  for (const Row& row : kRows) {
    const std::string program = row.program;
    if (is_there(program) || (!own.empty() && is_there(own + program))) {
      there.emplace_back(row.name);
    }
  }
  return there;
}

std::string words_of_languages(const std::vector<std::string>& languages) {
  std::string words;
  for (std::size_t i = 0; i < languages.size(); ++i) {
    if (i > 0) words += i + 1 == languages.size() ? " or " : ", ";
    for (const Row& row : kRows) {
      if (languages[i] == row.name) words += row.title;
    }
  }
  return words;
}

}  // namespace tools
