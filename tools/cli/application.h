// Everything a command needs, built in order and taken down in reverse.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "sessions/manager.h"
#include "sessions/quotas.h"
#include "sessions/readiness.h"
#include "sessions/services.h"
#include "share/file_share.h"
#include "tools/cli/settings.h"

namespace sessions {
class Store;
}

namespace tools::cli {

class Application {
 public:
  static base::Result<std::unique_ptr<Application>> open(const Settings& settings);
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] sandbox::Sandbox& sandbox() { return *sandbox_; }
  [[nodiscard]] sessions::Store& store() { return *store_; }
  [[nodiscard]] sessions::Manager& manager() { return *manager_; }
  [[nodiscard]] sessions::Services services() { return manager_->services(); }
  [[nodiscard]] share::FileShare& share() { return *share_; }
  [[nodiscard]] sessions::Readiness& readiness() { return *readiness_; }
  // Returns who acts on the command line and over stdio: the user of this machine.
  [[nodiscard]] const std::string& principal_id() const { return principal_id_; }

 private:
  explicit Application(Settings settings);

  Settings settings_;
  const std::shared_ptr<sessions::Readiness> readiness_ = std::make_shared<sessions::Readiness>();
  std::unique_ptr<sessions::Store> store_;
  std::unique_ptr<sandbox::Sandbox> sandbox_;
  std::optional<share::FileShare> share_;
  std::unique_ptr<sessions::Manager> manager_;  // after share_, which it sweeps
  std::string principal_id_;
};

// It is kInvalid where folders or hosts cannot be granted as they are written.
base::Status check_grants(const Settings& settings);
// New sessions get so much, and may get so much.
sessions::Quotas quotas_of(const Settings& settings);

// Returns where hutch-box and hutch-init, and the runners and profiles, are: beside this program,
// or in share/hutch of the directory above it.
base::Result<sandbox::SandboxConfig> sandbox_config(const Settings& settings);

}  // namespace tools::cli
