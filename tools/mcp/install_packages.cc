// install_packages: pip and npm as code would call them, where the session's network allows it.
#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/network_rule.h"
#include "sessions/manager_config.h"
#include "sessions/network_choice.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/session_networks.h"
#include "tools/mcp/call_session.h"
#include "tools/advice.h"
#include "tools/mcp/run_reply.h"
#include "tools/mcp/tool_kit.h"

namespace tools {

using base::Error;

namespace {

constexpr std::size_t kPackageBytesMax = 500;

struct PackageManager {
  const char* name;
  const char* command;  // to which the packages are added
};

constexpr PackageManager kManagers[] = {{"pip", "python3 /run/hutch/runners/install/pip.py"},
                                        {"npm", "node /run/hutch/runners/install/npm.mjs"}};
constexpr const char* kApt = "apt";

PackageManager manager_named(const std::string& name) {
  return *std::find_if(std::begin(kManagers), std::end(kManagers),
                       [&name](const PackageManager& manager) { return name == manager.name; });
}

// As one word of bash.
base::Result<std::string> quoted(const std::string& package) {
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

// pip's own spelling of a file that names packages, as people write it.
std::optional<std::string> requirements_in(const std::string& package) {
  for (const std::string option : {"-r ", "--requirement ", "--requirement="}) {
    if (package.starts_with(option)) return package.substr(option.size());
  }
  return std::nullopt;
}

base::Result<std::string> command_of(const PackageManager& manager,
                                     const std::vector<std::string>& packages) {
  std::string files;
  std::string names;
  for (const std::string& package : packages) {
    const auto file = manager.name == std::string_view("pip") ? requirements_in(package)
                                                              : std::optional<std::string>();
    if (file) {
      files += " -r " + TRY(quoted(*file));
    } else {
      names += " " + TRY(quoted(package));
    }
  }
  return manager.command + files + (names.empty() ? "" : " --" + names);
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
    TRY(check_network(services, sessions::Session(), manager));
  }
  const CallSession found = TRY(resolve(services, arguments, context));
  TRY(check_network(services, found.session, manager));
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
