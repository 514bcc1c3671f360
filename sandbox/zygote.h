// The zygote, as a server sees it: started where there is none, and kept by staying connected.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "sandbox/base/fd.h"
#include "sandbox/base/result.h"
#include "sandbox/sandbox.h"

namespace sandbox {

class Zygote {
 public:
  explicit Zygote(SandboxConfig config);

  // Starts one unless it is there, was just tried, or is not wanted. Waits for nothing: until it is
  // warm, and when it cannot be, boxes do without. May be called from any thread.
  void ensure();

 private:
  using Clock = std::chrono::steady_clock;

  base::Status attach();
  base::Status start();

  const SandboxConfig config_;
  std::mutex mutex_;
  base::UniqueFd connection_;     // open for as long as it lives, or while it is being warmed
  Clock::time_point not_before_;  // of the next attempt
  int attempts_ = 0;              // in a row
};

// Waits until the zygote of this directory is warm. The error is what stands last in its log.
base::Status wait_for_zygote(const std::string& directory_path, std::chrono::seconds patience);
// What the last one in this directory has said.
std::string words_of_zygote(const std::string& directory_path);

}  // namespace sandbox
