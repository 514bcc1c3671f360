// install_packages: pip and npm as code would call them, where the session's network allows it.
#include <fcntl.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/environment.h"
#include "sandbox/network_rule.h"
#include "sessions/manager_config.h"
#include "sessions/network_choice.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/session_networks.h"
#include "tools/mcp/call_session.h"
#include "tools/advice.h"
#include "tools/mcp/new_run.h"
#include "tools/mcp/tool_kit.h"

namespace tools {

using base::Error;

namespace {

constexpr std::size_t kPackageBytesMax = 500;

// An option of a manager's, as people put it among the packages, and how it is passed on.
struct Option {
  std::string_view name;
  std::string_view passed;
  bool has_value = false;  // a file or a folder: behind a blank or "=", or the next item
};

constexpr Option kPipOptions[] = {
    {"-r", "-r", true},
    {"--requirement", "-r", true},
    {"-e", "-e", true},
    {"--editable", "-e", true},
    {"-U", "--upgrade"},
    {"--upgrade", "--upgrade"},
    {"--pre", "--pre"},
    {"--no-deps", "--no-deps"},
    {"--force-reinstall", "--force-reinstall"},
};
constexpr Option kNpmOptions[] = {
    {"-D", "--save-dev"},
    {"--save-dev", "--save-dev"},
    {"-E", "--save-exact"},
    {"--save-exact", "--save-exact"},
    {"--legacy-peer-deps", "--legacy-peer-deps"},
    {"-f", "--force"},
    {"--force", "--force"},
};

struct PackageManager {
  const char* name;
  const char* command;  // to which the packages are added
  std::span<const Option> options;
};

// Python and node as the cells have them, whatever else bash has on its PATH, or instead of them.
constexpr PackageManager kManagers[] = {
    {"pip",
     R"(/usr/bin/env "HUTCH_BASH_PATH=$PATH" PATH=/environment/bin:/usr/bin:/bin )"
     "python3 -E /run/hutch/runners/install/pip.py",
     kPipOptions},
    {"npm",
     "/usr/bin/env -u NODE_OPTIONS "
     R"("HUTCH_BASH_PATH=$PATH" PATH=/environment/bin:/usr/bin:/bin )"
     "node /run/hutch/runners/install/npm.mjs",
     kNpmOptions}};
constexpr const char* kApt = "apt";

PackageManager manager_named(const std::string& name) {
  return *std::find_if(std::begin(kManagers), std::end(kManagers),
                       [&name](const PackageManager& manager) { return name == manager.name; });
}

// As one word of bash.
base::Result<std::string> as_word(const std::string& package) {
  if (package.empty() || package.size() > kPackageBytesMax ||
      std::any_of(package.begin(), package.end(),
                  [](char c) { return static_cast<unsigned char>(c) < ' '; })) {
    return base::error(
        Error::Kind::kInvalid,
        "packages: \"" + base::echoed(package) + "\" is no name of a package, or a version of one");
  }
  std::string word = "'";
  for (const char c : package) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

base::Error no_such_option(const PackageManager& manager, std::string_view option) {
  std::string known;
  for (const Option& one : manager.options) base::append_part(known, std::string(one.name));
  return base::error(Error::Kind::kInvalid,
                     "packages: " + base::echoed(std::string(option)) + " is no package, and of " +
                         manager.name + "'s options these can stand here: " + known +
                         "; run_code with bash calls " + manager.name + " itself, with any");
}

// Returns the names and options in an item that is several, with blanks or commas between; else
// the item. In brackets are extras of one.
std::vector<std::string> names_in(const std::string& item) {
  constexpr std::string_view kOfNames =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  constexpr std::string_view kBetween = ", ";
  if (item.find_first_not_of(std::string(kOfNames) + std::string(kBetween)) != item.npos) {
    return {item};
  }
  std::vector<std::string> names;
  for (std::size_t at = item.find_first_not_of(kBetween); at != item.npos;) {
    const std::size_t end = std::min(item.find_first_of(kBetween, at), item.size());
    names.push_back(item.substr(at, end - at));
    at = item.find_first_not_of(kBetween, end);
  }
  return names.empty() ? std::vector<std::string>{item} : names;
}

base::Result<std::string> command_of(const PackageManager& manager,
                                     const std::vector<std::string>& packages) {
  std::string options;
  std::string names;
  const Option* open = nullptr;  // Its value is the next item, or what is left of its own.
  std::deque<std::string> waiting(packages.begin(), packages.end());
  while (!waiting.empty()) {
    std::string item = std::move(waiting.front());
    waiting.pop_front();
    if (std::exchange(open, nullptr) != nullptr) {
      options += " " + TRY(as_word(item));
      continue;
    }
    if (item.starts_with('-')) {
      const std::size_t end = std::min(item.find_first_of(" ="), item.size());
      const auto known = std::find_if(
          manager.options.begin(), manager.options.end(),
          [&](const Option& one) { return std::string_view(item).substr(0, end) == one.name; });
      const bool is_assigned = end < item.size() && item[end] == '=';
      if (known == manager.options.end() || (is_assigned && !known->has_value)) {
        return no_such_option(manager, item.substr(0, item.find(' ')));
      }
      options.append(" ").append(known->passed);
      if (known->has_value) open = &*known;
      item.erase(0, end + 1);
      if (!item.empty()) waiting.push_front(std::move(item));
      continue;
    }
    const std::vector<std::string> found = names_in(item);
    if (found.size() == 1) {
      names += " " + TRY(as_word(found.front()));
    } else {
      waiting.insert(waiting.begin(), found.begin(), found.end());
    }
  }
  if (open != nullptr) {
    return base::error(Error::Kind::kInvalid,
                       "packages: " + std::string(open->name) + " names no file or folder");
  }
  return manager.command + options + (names.empty() ? "" : " --" + names);
}

// For who waits for them: "pip numpy, pandas". A list that is too long ends in dots, by which
// runners know that it has more.
std::string words_of(const PackageManager& manager, const std::vector<std::string>& packages) {
  const std::string all = base::join(packages);
  const std::string shown = base::echoed(all);
  return manager.name + (" " + shown) + (shown.size() < all.size() ? ", ..." : "");
}

base::Error no_apt() {
  return base::error(
      Error::Kind::kUnsupported,
      "apt changes the root of the file system, which sessions can only read. Whoever runs hutch "
      "can "
      "make an environment with its packages: hutch environments build NAME --apt PACKAGE,..., "
      "then "
      "create_session with template NAME. Without that: a program that is one file can be written "
      "into /workspace, and many are also packages of pip or npm.");
}

base::Status check_network(const Services& services, const sessions::Session& session,
                           const PackageManager& manager) {
  const auto network = TRY(services.networks.network_of(session));
  const auto& indexes = services.config.network.indexes;
  const auto index = indexes.find(manager.name);
  const std::string& id = session.id;
  std::string host = "its index";
  if (index != indexes.end()) {
    const sandbox::NetworkRule& first = index->second.hosts.front();
    if (sandbox::allows(network.hosts, first.host, first.port)) return base::done();
    host = first.host;
  }
  const std::string refused =
      "the network policy of " + (id.empty() ? "this connection's session" : "session " + id) +
      " does not allow " + host + ", so " + manager.name + " can install nothing";
  const sessions::GrantedNetwork& granted = services.config.network;
  if (const auto name = sessions::name_to_ask(host, granted)) {
    return base::error(Error::Kind::kUnsupported,
                       refused + ": " + own_way(*name, id, services.command));
  }
  return base::error(
      Error::Kind::kUnsupported,
      refused + ". Whoever runs hutch can allow it: hutch " +
          (granted.unasked ? "stdio" : "serve") +
          " --packages, or "
          "allow = [\"packages\"] in [network] of the configuration. Until then use what is "
          "there (in run_code: import importlib.metadata; sorted(d.name for d in "
          "importlib.metadata.distributions())), or write the package's files into /workspace with "
          "write_file.");
}

// As indexes compare names: "Foo.bar_baz" is "foo-bar-baz".
std::string plain_name(std::string_view name) {
  std::string plain = base::lower(name);
  std::replace_if(
      plain.begin(), plain.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return plain;
}

// Returns the names of Python's packages in an environment; none of the host's.
std::set<std::string> names_in_environment(const Services& services,
                                           const std::string& template_name) {
  std::set<std::string> names;
  const std::string& directory = services.config.environments_directory;
  const auto found = sandbox::find_environment(directory, template_name);
  if (!found.ok()) return names;
  const auto library = base::open_file(AT_FDCWD, found.value() + "/lib", O_RDONLY | O_DIRECTORY);
  if (!library.ok()) return names;
  for (const std::string& python : base::names_in(library.value().get())) {
    const auto packages =
        base::open_file(library.value().get(), python + "/site-packages", O_RDONLY | O_DIRECTORY);
    if (!packages.ok()) continue;
    for (const std::string& name : base::names_in(packages.value().get())) {
      if (name.ends_with(".dist-info")) names.insert(plain_name(name.substr(0, name.find('-'))));
    }
  }
  return names;
}

// Returns whether an environment has packages of all these names: of them pip says without a
// network whether they are what is asked for.
bool may_be_there(const Services& services, const std::string& template_name,
                  const PackageManager& manager, const std::vector<std::string>& packages) {
  if (std::string_view(manager.name) != "pip") return false;
  const std::set<std::string> there = names_in_environment(services, template_name);
  for (const std::string& item : packages) {
    for (const std::string& one : names_in(item)) {
      const std::size_t end = std::min(one.find_first_of("=<>!~ "), one.size());
      if (!there.contains(plain_name(std::string_view(one).substr(0, end)))) return false;
    }
  }
  return true;
}

base::Status check_session(const Services& services, const sessions::Session& session,
                           const PackageManager& manager,
                           const std::vector<std::string>& packages) {
  const sessions::ManagerConfig& config = services.config;
  const std::string template_name =
      session.id.empty()
          ? sandbox::usual_template(config.environments_directory, config.usual_template)
          : session.template_name;
  base::Status checked = check_network(services, session, manager);
  if (!checked.ok() && may_be_there(services, template_name, manager, packages))
    return base::done();
  return checked;
}

base::Result<Reply> install(const Services& services, const Arguments& arguments,
                            mcp::CallContext& context) {
  const std::string name = arguments.text("manager", "pip");
  if (name == kApt) return no_apt();
  const PackageManager manager = manager_named(name);
  const std::vector<std::string> packages = arguments.list("packages");
  if (packages.empty()) {
    return base::error(Error::Kind::kInvalid, "packages must name at least one");
  }
  sandbox::RunRequest request;
  request.language = sandbox::Language::kBash;
  request.code = TRY(command_of(manager, packages));
  request.installs = words_of(manager, packages);
  // No session is made only to say no: one that asks for nothing will have what this one has.
  if (!arguments.has("session_id") && default_session_id(services, context).empty()) {
    TRY(check_session(services, sessions::Session(), manager, packages));
  }
  const CallSession found = TRY(resolve(services, arguments, context));
  TRY(check_session(services, found.session, manager, packages));
  request.timeout_seconds = services.runs.longest_seconds(found.session);
  return reply_of_new_run(services, found, std::move(request), context);
}

// Returns the schema for a run, or for the answer where nothing was to be run.
nlohmann::json schema_of_install() {
  nlohmann::json schema =
      object_schema({{"session_id", "string"}, {"run_id", "string"}, {"status", "string"}},
                    {"session_id", "run_id", "status"});
  schema["anyOf"] = {{{"required", {"stdout", "stderr"}}}, {{"required", {"status"}}}};
  return schema;
}

}  // namespace

mcp::Tool install_tool(const Services& services) {
  Definition definition{
      "install_packages",
      "Install packages",
      "Installs packages into the session, where its network policy allows.",
      {{.name = "packages",
        .type = Argument::Type::kStringList,
        .required = true,
        .description = "numpy>=2, \"-r requirements.txt\"",
        .most = 100},
       session_argument(),
       {.name = "manager", .description = "default pip", .values = {"pip", "npm", kApt}}},
      schema_of_install(),
      {.read_only = false, .destructive = false, .idempotent = true},
      mcp::TaskSupport::kOptional};
  return make_tool(services, definition,
                   [services](const Arguments& arguments, mcp::CallContext& context) {
                     return install(services, arguments, context);
                   });
}

}  // namespace tools
