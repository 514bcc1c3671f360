#include "tools/cli/own_command.h"

#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/process.h"
#include "base/text.h"

namespace tools::cli {
namespace {

constexpr const char* kProgram = "hutch";

bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code ignored;
  return std::filesystem::equivalent(one, other, ignored);
}

std::string for_shell(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  return base::quoted_for_shell(word);
}

// Whoever brought hutch here knows better how it is started again: those are words already.
std::string program_to_type(const Environment& environment) {
  const std::string launcher = environment("HUTCH_LAUNCHER");
  if (!launcher.empty() && launcher != "none") return launcher;
  const auto own = own_path(environment);
  const std::string found = path_of(kProgram, environment);
  const bool is_found = !own.ok() || (found.starts_with('/') && is_same_file(found, own.value()));
  return is_found ? kProgram : for_shell(own.value());
}

// A person's shell has none of the variables that this process was given for itself.
std::string usual_state_directory(const Environment& environment) {
  const auto settings = resolve_settings({}, [&environment](const char* name) {
    return std::string_view(name).starts_with("HUTCH_") ? std::string() : environment(name);
  });
  return settings.ok() ? settings.value().state_directory : "";
}

}  // namespace

std::string path_of(const std::string& program, const Environment& environment) {
  std::istringstream directories(environment("PATH"));
  for (std::string one;
       program.find('/') == std::string::npos && std::getline(directories, one, ':');) {
    std::string path = one + "/" + program;
    if (one.starts_with('/') && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return program;
}

base::Result<std::string> own_path(const Environment& environment) {
  const std::string own = TRY(base::executable_directory()) + "/" + kProgram;
  std::istringstream directories(environment("PATH"));
  for (std::string one; std::getline(directories, one, ':');) {
    const std::string path = one + "/" + kProgram;
    if (one.starts_with('/') && is_same_file(path, own)) return path;
  }
  return own;
}

std::string own_command(const Settings& settings, const Environment& environment) {
  std::string command = program_to_type(environment);
  if (settings.state_directory != usual_state_directory(environment)) {
    command += " --state-dir " + for_shell(settings.state_directory);
  }
  return command;
}

}  // namespace tools::cli
