// hutch credential: what the door to the network adds to requests, kept sealed.
#include <fcntl.h>
#include <pwd.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/process.h"
#include "sessions/credential_table.h"
#include "sessions/sealing.h"
#include "sessions/store.h"
#include "tools/cli/commands.h"
#include "tools/cli/own_command.h"
#include "tools/cli/program_output.h"

namespace tools::cli {

using base::Error;
using nlohmann::json;

namespace {

// Shorter ones would be found in answers where nobody has put them.
constexpr std::size_t kValueBytesMin = 8;
constexpr std::size_t kValueBytesMax = 8192;
constexpr std::chrono::seconds kCommandPatience{15};

std::string own_credential(const Settings& settings) {
  return own_command(settings, process_environment()) + " credential";
}

base::Result<base::SealingKey> key_of(const Settings& settings) {
  return sessions::sealing_key_in(settings.state_directory + "/credentials.key");
}

// Returns the value without the end of the line that it stood in. Fails with kInvalid where it has
// characters that no header can have, or is too short or too long.
base::Result<std::string> checked(std::string value) {
  while (value.ends_with('\n') || value.ends_with('\r')) value.pop_back();
  const bool is_printable = std::all_of(value.begin(), value.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != 0x7F;
  });
  if (!is_printable) return base::invalid("the value has characters in it that no header can have");
  if (value.size() < kValueBytesMin || value.size() > kValueBytesMax) {
    return base::invalid("the value must have " + std::to_string(kValueBytesMin) + " to " +
                         std::to_string(kValueBytesMax) + " bytes");
  }
  return value;
}

// Whoever types it does not show it.
base::Result<std::string> read_from_terminal() {
  std::cerr << "Value (not shown): " << std::flush;
  termios before{};
  if (::tcgetattr(STDIN_FILENO, &before) != 0) return Error::from_errno("read from the terminal");
  termios silent = before;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  std::string line;
  std::getline(std::cin, line);
  (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
  std::cerr << "\n";
  return line;
}

base::Result<std::string> value_of(const CredentialOptions& options) {
  if (!options.variable.empty()) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    const char* const value =
        ::getenv(options.variable.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
    if (value == nullptr) return base::invalid("there is no variable " + options.variable);
    return checked(value);
  }
  if (!options.file.empty()) {
    const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, options.file, O_RDONLY));
    std::string read = TRY(base::read_all(file.get(), kValueBytesMax + 2));
    return checked(std::move(read));
  }
  const bool is_typed = ::isatty(STDIN_FILENO) == 1;
  std::string read =
      TRY(is_typed ? read_from_terminal() : base::read_all(STDIN_FILENO, kValueBytesMax + 2));
  return checked(std::move(read));
}

base::Status check_name(const std::string& name) {
  static constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (!name.empty() && name.size() <= 64 && name.find_first_not_of(kAllowed) == std::string::npos) {
    return base::done();
  }
  return base::invalid("the name of a credential is 1 to 64 letters, digits and ._-");
}

std::string home_of_user() {
  const passwd* const user = ::getpwuid(::getuid());  // NOLINT(concurrency-mt-unsafe): one thread
  if (user != nullptr) return user->pw_dir;
  const char* const home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): one thread
  return home != nullptr ? home : "/";
}

base::Result<std::string> printed_by(const std::string& command) {
  base::SpawnOptions options;
  options.arguments = {"/bin/sh", "-c", command};
  options.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
                         "HOME=" + home_of_user()};
  auto printed = output_of(std::move(options), kValueBytesMax + 2, kCommandPatience);
  if (printed.ok()) return checked(std::move(printed).value());
  return base::error(printed.error().kind, "its command " + printed.error().message);
}

base::Result<std::string> value_in(const Settings& settings, const std::string& name) {
  const auto store = TRY(open_store(settings));
  const auto stored = TRY(store->credentials.find(name));
  const auto key = TRY(key_of(settings));
  const std::string text =
      TRY(sessions::unseal_digits(key, stored.sealed, stored.source + " " + name));
  return stored.source == "command" ? printed_by(text) : base::Result<std::string>(text);
}

}  // namespace

base::Status keep_credential(const Settings& settings, sessions::CredentialTable& credentials,
                             sessions::StoredCredential credential, const std::string& text) {
  const auto key = TRY(key_of(settings));
  const std::string purpose = credential.source + " " + credential.credential.name;
  credential.sealed = TRY(sessions::seal_in_digits(key, text, purpose));
  credential.updated_at = base::now_ms();
  return credentials.put(credential);
}

base::Result<int> credential_set(const Settings& settings, const CredentialOptions& options) {
  TRY(check_name(options.name));
  sessions::StoredCredential stored;
  sandbox::Credential& credential = stored.credential;
  credential.name = options.name;
  credential.host = TRY(sandbox::parse_network_rule(options.host));
  if (!credential.host.methods.empty() || !credential.host.path.empty()) {
    return base::invalid("--host takes a host, without methods and a path");
  }
  TRY(sandbox::take_place(options.place, credential));
  credential.allows_plain = options.allow_plain;
  stored.source = options.command.empty() ? "value" : "command";
  const std::string text = options.command.empty() ? TRY(value_of(options)) : options.command;
  const bool is_pair = stored.source == "command" || text.find(':') != std::string::npos;
  if (options.place == "basic" && !is_pair) {
    return base::invalid("for --basic the value is user:password");
  }
  if (options.place == "sigv4" && !is_pair) {
    return base::invalid("for --sigv4 the value is id:secret, or id:secret:token");
  }
  const auto store = TRY(open_store(settings));
  TRY(keep_credential(settings, store->credentials, stored, text));
  std::cout << options.name << " is added to requests to " << sandbox::text_of(credential.host)
            << " of sessions that name it, or of all with: "
            << own_command(settings, process_environment()) << " stdio --credential "
            << options.name << "\n";
  return 0;
}

base::Result<int> credential_list(const Settings& settings, bool as_json) {
  const auto store = TRY(open_store(settings));
  const auto all = TRY(store->credentials.list());
  json list = json::array();
  for (const sessions::StoredCredential& stored : all) {
    list.push_back({{"name", stored.credential.name},
                    {"host", sandbox::text_of(stored.credential.host)},
                    {"place", sandbox::text_of_place(stored.credential)},
                    {"source", stored.source},
                    {"allow_plain", stored.credential.allows_plain},
                    {"updated_at", base::to_rfc3339(stored.updated_at)}});
  }
  if (as_json) {
    std::cout << base::print_json(list) << "\n";
    return 0;
  }
  if (all.empty()) {
    std::cout << "no credentials; " << own_credential(settings) << " set keeps one\n";
  }
  for (const json& one : list) {
    std::cout << one["name"].get<std::string>() << "  " << one["host"].get<std::string>() << "  "
              << one["place"].get<std::string>() << "  " << one["source"].get<std::string>() << "  "
              << one["updated_at"].get<std::string>() << "\n";
  }
  return 0;
}

base::Result<int> credential_remove(const Settings& settings, const std::string& name) {
  const auto store = TRY(open_store(settings));
  const auto removed = store->credentials.remove(name);
  if (!removed.ok() && removed.error().kind == Error::Kind::kNotFound) {
    return base::error(Error::Kind::kNotFound, "there is no credential " + name + "; " +
                                                   own_credential(settings) +
                                                   " ls lists those there are");
  }
  TRY(removed);
  std::cout << "removed " << name << "\n";
  return 0;
}

base::Result<int> credential_hand_over(const Settings& settings, const std::string& name) {
  if (::isatty(STDOUT_FILENO) == 1) {
    return base::invalid("this is for hutch itself: a credential is shown to nobody");
  }
  const auto value = value_in(settings, name);
  const json answer =
      value.ok() ? json{{"value", value.value()}} : json{{"error", value.error().message}};
  TRY(base::write_all(STDOUT_FILENO, base::print_json(answer)));
  return 0;
}

}  // namespace tools::cli
