// The zygote, as a server sees it: started where there is none, and kept by staying connected.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/sandbox.h"

namespace sandbox {

// Returns where the zygote of an environment has its socket, lock and log; empty: that of the host.
std::string zygote_directory_of(const std::string& of_host, const std::string& environment);

// A Zygote stands for the zygote of one environment, or of the host.
class Zygote {
 public:
  Zygote(const SandboxConfig& config, std::string environment_directory);

  // Starts one unless it is there, was just tried, or is not wanted. Waits for nothing: until it is
  // warm, and when it cannot be, boxes do without. May be called from any thread.
  void ensure();

  // It is not needed now: without any server it ends. The next ensure() starts it again.
  void let_go();
  [[nodiscard]] std::chrono::steady_clock::time_point last_ensured() const;

  // Returns its own directory, for its socket, lock and log.
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  using Clock = std::chrono::steady_clock;

  base::Status attach();
  base::Status start();

  const SandboxConfig config_;
  const std::string environment_directory_;  // empty: the host's packages
  const std::string directory_;
  mutable std::mutex mutex_;
  base::UniqueFd connection_;  // open for as long as it lives, or while it is being warmed
  Clock::time_point last_ensured_;
  Clock::time_point not_before_;  // the next attempt is no earlier
  int attempts_ = 0;              // in a row
};

// Returns true while there is a zygote in this directory, warm or not; one that has just been
// started counts.
bool zygote_lives(const std::string& directory_path);
// Waits until the zygote of this directory is warm, while it lives. The error is what stands last
// in its log.
base::Status wait_for_zygote(const std::string& directory_path, std::chrono::seconds patience);
// Returns the last line that the last zygote in this directory has logged, or why there is none.
std::string words_of_zygote(const std::string& directory_path);

}  // namespace sandbox
