#include "tools/cli/application.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/clock.h"
#include "base/process.h"
#include "mcp/worker_pool.h"
#include "sandbox/environment.h"
#include "sandbox/own_ids.h"
#include "sessions/certificates.h"
#include "sessions/grants.h"
#include "sessions/manager.h"
#include "sessions/manager_config.h"
#include "sessions/principal_table.h"
#include "sessions/quotas.h"
#include "sessions/readiness.h"
#include "sessions/session_directory.h"
#include "sessions/store.h"
#include "sessions/upkeep_table.h"
#include "tools/api/uploads.h"
#include "tools/cli/commands.h"
#include "tools/cli/granted_network.h"
#include "tools/cli/logging.h"

namespace tools::cli {

using base::Error;

namespace {

// A box of root's is made without root's right to enter whatever others keep closed.
base::Status check_reach(const std::string& directory) {
  if (::geteuid() != 0) return base::done();
  for (std::size_t end = directory.size(); end != 0 && end != std::string::npos;
       end = directory.rfind('/', end - 1)) {
    const std::string part = directory.substr(0, end);
    struct stat status {};
    if (::stat(part.c_str(), &status) != 0 || status.st_uid == 0) continue;
    if ((status.st_mode & S_IXOTH) != 0 ||
        (status.st_gid == 0 && (status.st_mode & S_IXGRP) != 0)) {
      continue;
    }
    return base::error(Error::Kind::kUnsupported,
                       part +
                           " is closed to all but its owner, and hutch lies in it: root's sessions "
                           "cannot reach it there. Install it elsewhere, or run it as that user");
  }
  return base::done();
}

}  // namespace

base::Result<sandbox::SandboxConfig> sandbox_config(const Settings& settings) {
  sandbox::SandboxConfig config;
  config.sessions_directory = sessions::sessions_directory(settings.state_directory);
  config.zygote_directory = settings.zygote_directory;
  config.egress_directory = sessions::egress_directory(settings.state_directory);
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
  TRY(check_reach(config.data_directory));
  return config;
}

namespace {

constexpr std::uintmax_t kToldMigrationBytes = 64 << 20;

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

sessions::Notify notify_of(const Settings& settings) {
  if (settings.serves) return log_notice;
  return [](const sessions::Notice& notice) {
    if (notice.level != sessions::Notice::Level::kFailure) log_notice(notice);
  };
}

// A small one is up to date before anybody could read a line.
base::Result<std::unique_ptr<sessions::Store>> open_store(const std::string& path) {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(path, none);
  if (none || bytes < kToldMigrationBytes) return sessions::Store::open(path);
  return sessions::Store::open(path, [bytes](std::size_t step, std::size_t steps) {
    announce("info", "the database (" + std::to_string(bytes >> 20) +
                         " MiB) is brought up to date, step " + std::to_string(step) + " of " +
                         std::to_string(steps));
  });
}

// Expired ones have a line each already; the others are one line, however many they are.
void sweep_shares(const share::FileShare& share) {
  const share::FileShare::Swept swept = share.sweep();
  if (!swept.orphans.empty()) {
    spdlog::info("deleted {} copies that no share has, {} with them", swept.orphans.size(),
                 swept.orphans.front());
  }
}

}  // namespace

base::Status check_grants(const Settings& settings) {
  (void)TRY(granted_folders(settings));
  PackageIndexes indexes;
  (void)TRY(granted_network(settings, indexes));
  return base::done();
}

sessions::Quotas quotas_of(const Settings& settings) {
  return {.default_limits = settings.default_limits,
          .most_limits = settings.most_limits,
          .sessions_max = settings.sessions_max,
          .kept_sessions_max = settings.kept_sessions_max,
          .idle_seconds = settings.idle_seconds,
          .retention_seconds = settings.retention_seconds};
}

Application::Application(Settings settings) : settings_(std::move(settings)) {}

Application::~Application() = default;

base::Result<std::unique_ptr<Application>> Application::open(const Settings& settings) {
  std::unique_ptr<Application> app(new Application(settings));
  // First, so that nothing is made for a command that says what is refused.
  sessions::GrantedFolders folders = TRY(granted_folders(settings));
  PackageIndexes indexes;
  sessions::GrantedNetwork network = TRY(granted_network(settings, indexes));
  TRY(make_directories(settings));
  network.roots = TRY(sessions::roots_with(sessions::egress_directory(settings.state_directory),
                                           sessions::host_roots(), indexes.certificates));
  app->sandbox_ = sandbox::make_sandbox(TRY(sandbox_config(settings)));
  app->store_ = TRY(open_store(sessions::database_in(settings.state_directory)));
  app->store_->watch(
      [readiness = app->readiness_, tells = settings.serves](auto begun, const Error* failure) {
        readiness->wrote(begun, failure);
        if (failure != nullptr && tells) log_database(*failure);
      },
      notify_of(settings));
  for (const auto& [credential, value] : indexes.logins) {
    TRY(keep_credential(settings, app->store_->credentials, {credential, "value", "", 0}, value));
  }
  app->principal_id_ = TRY(app->store_->principals.ensure("local"));
  app->share_ = TRY(share::FileShare::open(settings.state_directory + "/shared",
                                           app->store_->shares, app->store_->upkeep));
  sweep_shares(*app->share_);  // also for a command that ends before the manager has swept
  sessions::ManagerConfig config;
  config.sweep_others = [&share = *app->share_, &upkeep = app->store_->upkeep,
                         directory = settings.state_directory] {
    sweep_shares(share);
    if (!upkeep.may_delete_by_time(base::now_ms())) return;
    for (const std::string& id : api::Uploads::sweep_all(directory)) {
      spdlog::info("deleted {}: no piece of it has come for a day", id);
    }
  };
  config.step_aside = [] { return std::make_shared<mcp::WorkerPool::Aside>(); };
  static_cast<sessions::Quotas&>(config) = quotas_of(settings);
  config.readiness = app->readiness_;
  config.notify = notify_of(settings);
  config.state_directory = settings.state_directory;
  config.folders = std::move(folders);
  config.network = std::move(network);
  config.network.quota.principal_id = app->principal_id_;
  config.environments_directory = settings.environments_directory;
  config.usual_template = settings.template_name;
  config.paused_max_seconds = settings.paused_max_seconds;
  config.autosave_mb = settings.autosave_mb;
  config.retention = settings.retention;
  config.connections_end_with_server = !settings.clients_come_back;
  // The boxes of such a server wait for them so long.
  if (settings.detach_seconds != kDetachUnset) {
    config.clients_back_within += std::chrono::seconds(settings.detach_seconds);
  }
  if (settings.serves) config.spare_sessions = static_cast<std::size_t>(settings.spare_sessions);
  const sessions::HostUidRange ids = TRY(sessions::host_uids_of(settings.state_directory));
  if (sandbox::can_give_ids(ids.first, ids.count + 1)) config.own_ids = ids;
  app->manager_ = TRY(sessions::Manager::open(std::move(config), *app->store_, *app->sandbox_));
  return app;
}

}  // namespace tools::cli
