// A mutex for each name that somebody has in hand: sessions, connections, files of sessions. Safe
// from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace sessions {

class NamedLocks {
 public:
  // Returns the mutex of that name, which is the same one for all who hold it at a time.
  std::shared_ptr<std::mutex> of(const std::string& name);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<std::mutex>> locks_;
};

}  // namespace sessions
