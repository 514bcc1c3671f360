#include "tools/cli/own_command.h"

#include <unistd.h>

#include <filesystem>
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
  if (program.find('/') != std::string::npos) return program;
  const std::string directories = environment("PATH");
  for (const std::string_view one : base::split(directories, ':')) {
    std::string path = std::string(one) + "/" + program;
    if (one.starts_with('/') && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return program;
}

base::Result<std::string> own_path(const Environment& environment) {
  const std::string own = TRY(base::executable_directory()) + "/" + kProgram;
  const std::string directories = environment("PATH");
  for (const std::string_view one : base::split(directories, ':')) {
    const std::string path = std::string(one) + "/" + kProgram;
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

namespace {

// Finds words that stand by themselves: a user's path may hold them, too.
std::size_t find_own_words(std::string_view text, std::string_view words) {
  const auto is_apart = [&](std::size_t at) {
    return at >= text.size() || text[at] == ' ' || text[at] == ',' || text[at] == ';';
  };
  std::size_t at = text.find(words);
  while (
      at != std::string_view::npos &&
      !(is_apart(at + words.size()) && (words.front() == ';' || (at > 0 && text[at - 1] == ' ')))) {
    at = text.find(words, at + 1);
  }
  return at;
}

}  // namespace

std::string in_words_of_shell(std::string words, const std::string& command) {
  struct Row {
    std::string_view said;
    std::string instead;
  };
  const Row rows[] = {
      {"; list_sessions shows yours, create_session makes one",
       "; `" + command + " sessions ls` shows those there are"},
      {"; create_session makes one", ""},
      {"create_session with more", "give new sessions more under [limits] of the configuration"},
      {"list_sessions", "`" + command + " sessions ls`"},
      {"delete_session", "`" + command + " sessions rm`"},
      {"; use list_files", ", which is copied to a path, not to -"},
      {"list_files", "`" + command + " shell SESSION -- ls`"},
  };
  for (const Row& row : rows) {
    const std::size_t at = find_own_words(words, row.said);
    if (at != std::string::npos) words.replace(at, row.said.size(), row.instead);
  }
  return words;
}

}  // namespace tools::cli
