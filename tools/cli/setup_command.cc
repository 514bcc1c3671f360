// hutch setup: an entry in the configuration of each MCP client that is here, and a run through it.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/private_file.h"
#include "base/process.h"
#include "base/text.h"
#include "sandbox/environment.h"
#include "tools/cli/commands.h"
#include "tools/cli/own_command.h"
#include "tools/cli/program_output.h"
#include "tools/cli/terminal.h"
#include "tools/setup/change.h"
#include "tools/setup/client.h"
#include "tools/setup/profile.h"
#include "tools/setup/trial.h"

namespace tools::cli {

using base::Error;
using setup::Change;
using setup::Client;

namespace {

constexpr const char* kClientsFile = "/setup/clients.json";
constexpr std::size_t kCompilerBytesMax = 64 * 1024;
constexpr std::chrono::seconds kCompilerPatience{60};

// Returns the words by which a client starts hutch: those of $HUTCH_LAUNCHER, since whoever brought
// hutch here knows better how it is started again, else our own path. Fails with kInvalid where it
// says "none": this copy may not last.
base::Result<std::vector<std::string>> words_to_start(const SetupOptions& options) {
  const Environment environment = process_environment();
  std::vector<std::string> words;
  std::istringstream launcher(environment("HUTCH_LAUNCHER"));
  for (std::string word; launcher >> word;) words.push_back(word);
  if (words == std::vector<std::string>{"none"}) {
    return base::error(
        Error::Kind::kInvalid,
        "this hutch is a copy that may be gone tomorrow: install it first (uv tool install "
        "FILE, pip install FILE, npm install -g FILE), then hutch-mcp setup");
  }
  // Clients of the desktop have a short PATH.
  if (!words.empty()) words[0] = path_of(words[0], environment);
  if (words.empty()) words.push_back(TRY(own_path(environment)));
  words.emplace_back("stdio");
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  return words;
}

base::Result<std::vector<Client>> chosen_clients(const std::vector<Client>& known,
                                                 const SetupOptions& options) {
  std::vector<Client> chosen;
  for (const std::string& id : options.clients) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&id](const Client& client) { return client.id == id; });
    if (found == known.end()) {
      std::string ids;
      for (const Client& client : known) base::append_part(ids, client.id);
      return base::error(Error::Kind::kInvalid, "no client " + id + " is known; there are: " + ids);
    }
    chosen.push_back(*found);
  }
  if (!options.clients.empty()) return chosen;
  std::copy_if(known.begin(), known.end(), std::back_inserter(chosen),
               [](const Client& client) { return client.is_there; });
  return chosen;
}

int list_clients(const std::vector<Client>& clients) {
  for (const Client& client : clients) {
    std::cout << (client.is_there ? "* " : "  ") << client.id
              << std::string(client.id.size() < 24 ? 24 - client.id.size() : 1, ' ') << client.title
              << "\n    " << client.file << "\n";
  }
  std::cout << "* seems to be on this machine\n";
  return 0;
}

base::Result<bool> agrees(const SetupOptions& options, const std::string& question) {
  if (options.yes) return true;
  if (::isatty(STDIN_FILENO) != 1) {
    return base::error(Error::Kind::kInvalid,
                       "nobody can be asked here: --yes writes without asking");
  }
  std::cout << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

enum class Did { kNothing, kHas, kWrote };

// Adds hutch to one client. Where this fails, the others still go on.
base::Result<Did> add_to(const Client& client, const std::string& records,
                         const SetupOptions& options) {
  // Whoever can be asked sees what would go.
  const bool can_ask = ::isatty(STDIN_FILENO) == 1 && !options.yes;
  const Change change = TRY(setup::plan_addition(client, records, options.replace || can_ask));
  if (!change.is_needed) {
    std::cout << client.title << ": " << change.file << " has it already\n";
    return Did::kHas;
  }
  std::cout << client.title << ":\n" << setup::difference(change) << std::flush;
  if (!TRY(agrees(options, "Write this?"))) return Did::kNothing;
  TRY(setup::apply_addition(client, records, change));
  std::cout << "Written";
  if (change.was_there) {
    std::cout << "; as it was before: " << setup::kept_copy(client, records);
  }
  std::cout << "\n" << client.next << ".\n\n";
  return Did::kWrote;
}

base::Result<Did> remove_from(const Client& client, const std::string& records,
                              const SetupOptions& options) {
  const Change change = TRY(setup::plan_removal(client, records));
  if (change.is_needed) {
    std::cout << client.title << ":\n" << setup::difference(change) << std::flush;
    if (!TRY(agrees(options, "Take it out?"))) return Did::kNothing;
  }
  TRY(setup::apply_removal(client, records, change));
  std::cout << client.title << ": " << (change.is_needed ? "taken out of " : "nothing of it in ")
            << change.file << "\n";
  return change.is_needed ? Did::kWrote : Did::kNothing;
}

// Reads the entry back: what stands there is what the client will do.
base::Status try_client(const Client& client, const std::string& home) {
  const std::string text = TRY(base::content_of_file(client.file));
  const auto document = TRY(setup::parse_document(client.format, text));
  setup::Keys keys = client.keys;
  keys.emplace_back(setup::kEntryName);
  auto words = setup::words_of_entry(setup::value_at(document, keys));
  if (!words.empty()) words[0] = path_of(words[0], process_environment());
  std::cout << "Trying it as " << client.title << " will start it... " << std::flush;
  const auto tried = setup::try_entry(words, home);
  if (!tried.ok()) {
    std::cout << "\n";
    return tried.error();
  }
  std::cout << tried.value().server << " has run code, in " << tried.value().took.count()
            << " ms\n";
  return base::done();
}

// Where AppArmor would keep sessions from starting. Who says no is told by the trial what that
// means.
base::Status offer_profile(const std::string& data_directory, const SetupOptions& options) {
  const std::string programs = TRY(base::executable_directory());
  const setup::Profile profile(data_directory, programs);
  if (!profile.is_needed()) return base::done();
  std::cout << "\nAppArmor keeps ordinary users of this system from making sandboxes, until root "
               "has loaded hutch's\nprofile. It gives the programs in "
            << programs << " that right, and nothing else.\n"
            << std::flush;
  if (!TRY(agrees(options, "Load it with sudo?"))) return base::done();
  return profile.load(!options.yes);
}

// A hutch of one file (tarball, wheel, npm) comes without: the first answers are sooner with it. Of
// no version of Python that is not here, and good until a source changes. PEP 552
void compile_runners(const std::string& data_directory) {
  const std::string runners = data_directory + "/runners";
  const bool are_compiled = ::access((runners + "/python/__pycache__").c_str(), F_OK) == 0;
  if (are_compiled || ::access((runners + "/python").c_str(), W_OK) != 0) return;
  base::SpawnOptions options;
  // Isolated: what lies in the directory that hutch was called in is nobody's module.
  options.arguments = {"/usr/bin/python3",    "-I",           "-m", "compileall",   "-q",
                       "--invalidation-mode", "checked-hash", "-s", data_directory, "-p",
                       "/run/hutch",          runners};
  options.environment = {"PATH=/usr/bin:/bin"};
  (void)output_of(std::move(options), kCompilerBytesMax, kCompilerPatience);  // else as before
}

// Offers to build the environment of packages that sessions would have besides. A program of its
// own builds it, and takes our place.
base::Result<int> offer_environment(const Settings& settings, const SetupOptions& options) {
  const std::string usual =
      sandbox::usual_template(settings.environments_directory, settings.template_name);
  if (usual != sandbox::kHostTemplate) return 0;
  std::cout
      << "\nSessions have the packages of this machine. `hutch environments build` gives them a "
         "hundred more\n(pandas, matplotlib, DuckDB, ...): 1.8 GB, in a minute or two.\n"
      << std::flush;
  const bool can_ask = ::isatty(STDIN_FILENO) == 1 && !options.yes;
  const bool wanted = options.environment || (can_ask && TRY(agrees(options, "Build it now?")));
  return wanted ? run_environments(settings, {"build"}) : 0;
}

}  // namespace

base::Result<int> run_setup(const Settings& settings, const SetupOptions& options) {
  const auto config = TRY(sandbox_config(settings));
  const Environment environment = process_environment();
  setup::Places places;
  places.home = environment("HOME");
  if (places.home.empty()) return base::error(Error::Kind::kInvalid, "HOME is not set");
  places.config = environment("XDG_CONFIG_HOME");
  if (places.config.empty()) places.config = places.home + "/.config";
  places.search_path = environment("PATH");
  places.variable = [environment](const std::string& name) { return environment(name.c_str()); };
  places.distribution = environment("WSL_DISTRO_NAME");
  if (!places.distribution.empty()) places.windows_profile = setup::windows_profile();
  const auto words = TRY(words_to_start(options));
  const auto known = TRY(setup::known_clients(config.data_directory + kClientsFile, places, words));
  if (options.list) return list_clients(known);
  const auto clients = TRY(chosen_clients(known, options));
  TRY(make_directories(settings));
  if (!options.remove) {
    compile_runners(config.data_directory);
    const auto loaded = offer_profile(config.data_directory, options);
    if (!loaded.ok()) tell(loaded.error().message);
  }
  if (clients.empty()) {
    return base::error(
        Error::Kind::kNotFound,
        "no MCP client that is known was found here; `hutch setup --list` shows them, and "
        "--client NAME writes for one that comes later");
  }
  if (!options.remove && !options.arguments.empty()) {
    // Before anything is written: hutch itself says what is wrong with them.
    auto tried_first = words;
    tried_first[0] = path_of(tried_first[0], environment);
    if (auto tried = setup::try_entry(tried_first, places.home); !tried.ok()) {
      return std::move(tried).error().context(
          "nothing was written, as hutch does not start with these arguments");
    }
  }
  const std::string records = settings.state_directory + "/setup";
  std::vector<Client> written;
  int status = 0;
  for (const Client& client : clients) {
    const auto did =
        options.remove ? remove_from(client, records, options) : add_to(client, records, options);
    if (!did.ok()) {
      tell(client.title + ": " + did.error().message);
      status = 1;
    } else if (did.value() != Did::kNothing) {
      written.push_back(client);
    }
  }
  if (options.remove || written.empty()) return status;
  const auto tried = try_client(written.front(), places.home);
  if (!tried.ok()) {
    tell(tried.error().message + "; what this machine lacks:");
    std::cerr << "\n";
    (void)TRY(run_doctor(settings, DoctorView::kTable));
    return 1;
  }
  std::cout << "\nhutch doctor:\n" << std::flush;
  (void)TRY(run_doctor(settings, DoctorView::kImprovable));
  return status != 0 ? status : offer_environment(settings, options);
}

}  // namespace tools::cli
