// Directories that clients watch by asking again and again. Safe from any thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sandbox/base/result.h"
#include "sandbox/files/directory_watch.h"

namespace tools::rest::e2b {

class Watchers {
 public:
  static constexpr std::size_t kMost = 64;
  // A client that has not asked for so long has gone.
  static constexpr std::chrono::minutes kUnaskedMost{10};

  // Its id, which only its session has a use for. kLimit: too many are there.
  base::Result<std::string> add(const std::string& session_id,
                                std::unique_ptr<sandbox::files::DirectoryWatch> watch);
  // What has happened since the last time.
  base::Result<std::vector<sandbox::files::DirectoryEvent>> take(const std::string& session_id,
                                                                 const std::string& id);
  base::Status remove(const std::string& session_id, const std::string& id);

 private:
  using Clock = std::chrono::steady_clock;
  struct Watcher {
    std::string session_id;
    std::unique_ptr<sandbox::files::DirectoryWatch> watch;
    Clock::time_point asked_at;
  };

  std::mutex mutex_;
  std::map<std::string, Watcher> watchers_;
};

}  // namespace tools::rest::e2b
