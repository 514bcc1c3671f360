#include "tools/cli/application.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "sandbox/base/process.h"
#include "sandbox/environment.h"
#include "sandbox/own_ids.h"
#include "sessions/certificates.h"
#include "tools/cli/network_sets.h"

namespace tools::cli {

using base::Error;

base::Result<sandbox::SandboxConfig> sandbox_config(const Settings& settings) {
  sandbox::SandboxConfig config;
  config.sessions_directory = settings.state_directory + "/sessions";
  config.zygote_directory = settings.zygote_directory;
  config.egress_directory = settings.state_directory + "/egress";
  const std::string usual =
      sandbox::usual_template(settings.environments_directory, settings.template_name);
  if (usual != sandbox::kHostTemplate) {
    config.usual_environment =
        TRY(sandbox::find_environment(settings.environments_directory, usual));
  }
  config.program_directory = TRY(base::executable_directory());
  config.data_directory =
      config.program_directory.substr(0, config.program_directory.rfind('/')) + "/share/hutch";
  if (settings.detach_seconds != kDetachUnset) config.detach_seconds = settings.detach_seconds;
  if (settings.zygote) {
    using Zygote = sandbox::SandboxConfig::Zygote;
    config.zygote = settings.serves ? Zygote::kStart : Zygote::kUse;
  }
  for (const std::string& needed :
       {config.program_directory + "/hutch-box", config.program_directory + "/hutch-init",
        config.data_directory + "/runners", config.data_directory + "/profiles"}) {
    if (::access(needed.c_str(), R_OK) != 0) {
      return base::error(Error::Kind::kUnsupported,
                         needed + " is missing: hutch needs its helpers beside it");
    }
  }
  return config;
}

namespace {

base::Result<sessions::GrantedFolders> granted_folders(const Settings& settings) {
  sessions::GrantedFolders folders;
  if (settings.mounting == Settings::Mounting::kNone) return folders;
  std::error_code failure;
  const std::string here = std::filesystem::current_path(failure).string();
  folders.all = TRY(sandbox::check_folders(settings.mounts, settings.never_mounted, here));
  folders.unasked = settings.mounting == Settings::Mounting::kAll;
  folders.decides = true;
  folders.look_again = [never = settings.never_mounted](const sandbox::HostFolder& folder) {
    return sandbox::check_folder(folder, never, "/");
  };
  return folders;
}

base::Result<sessions::GrantedNetwork> granted_network(const Settings& settings) {
  sessions::GrantedNetwork network;
  if (settings.mounting == Settings::Mounting::kNone) return network;
  for (const std::string& text : settings.allow) {
    if (const auto set = network_set(text)) {
      network.sets[text] = *set;
      continue;
    }
    auto rule = sandbox::parse_network_rule(text);
    if (!rule.ok()) return std::move(rule).error().context("allow");
    network.hosts.push_back(std::move(rule).value());
  }
  for (const auto& [name, address] : settings.addresses) {
    in6_addr parsed{};
    if (::inet_pton(AF_INET, address.c_str(), &parsed) != 1 &&
        ::inet_pton(AF_INET6, address.c_str(), &parsed) != 1) {
      return base::error(Error::Kind::kInvalid,
                         "network.addresses: " + name + " has no address of version 4 or 6");
    }
    network.addresses[TRY(sandbox::canonical_host(name))] = address;
  }
  network.credentials = settings.credentials;
  const auto indexes = network_set("packages");
  for (const sandbox::NetworkRule& index : *indexes) network.kept_hosts.push_back(index.host);
  network.downloads_mb = settings.downloads_mb;
  network.roots = sessions::host_roots();
  network.unasked = settings.mounting == Settings::Mounting::kAll;
  if (network.unasked) {
    auto all = sandbox::check_network_rules(network.all());
    if (!all.ok()) return std::move(all).error().context("allow");
  }
  return network;
}

}  // namespace

base::Result<std::unique_ptr<Application>> Application::open(const Settings& settings) {
  std::unique_ptr<Application> app(new Application(settings));
  // First, so that nothing is made for a command that says what is refused.
  sessions::GrantedFolders folders = TRY(granted_folders(settings));
  sessions::GrantedNetwork network = TRY(granted_network(settings));
  TRY(make_directories(settings));
  app->sandbox_ = sandbox::make_sandbox(TRY(sandbox_config(settings)));
  app->store_ = TRY(sessions::Store::open(settings.state_directory + "/hutch.db"));
  app->principal_id_ = TRY(app->store_->ensure_principal("local"));
  app->share_ = TRY(share::FileShare::open(settings.state_directory + "/shared", *app->store_));
  app->share_->sweep();  // also for a command that ends before the manager has swept
  sessions::ManagerConfig config;
  config.sweep_others = [&share = *app->share_] { share.sweep(); };
  config.state_directory = settings.state_directory;
  config.default_limits = settings.default_limits;
  config.most_limits = settings.most_limits;
  config.folders = std::move(folders);
  config.network = std::move(network);
  config.environments_directory = settings.environments_directory;
  config.usual_template = settings.template_name;
  config.sessions_max = settings.sessions_max;
  config.idle_seconds = settings.idle_seconds;
  config.retention_seconds = settings.retention_seconds;
  config.paused_max_seconds = settings.paused_max_seconds;
  config.connections_end_with_server = !settings.clients_come_back;
  if (settings.serves) config.spare_sessions = static_cast<std::size_t>(settings.spare_sessions);
  const sessions::HostUidRange ids = TRY(sessions::host_uids_of(settings.state_directory));
  if (sandbox::can_give_ids(ids.first, ids.count + 1)) config.own_ids = ids;
  app->manager_ = TRY(sessions::Manager::open(std::move(config), *app->store_, *app->sandbox_));
  return app;
}

}  // namespace tools::cli
