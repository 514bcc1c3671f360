// A SessionLock says who owns a session: whoever holds the lock (flock(2)) on the file `lock` in
// its directory. A server holds it while it makes, sweeps or removes what is in the directory;
// hutch-box gets the open file from the server that starts it, and with it the lock, so that the
// session is nobody's at no time. The kernel gives it up with the last process that has the file
// open.
#pragma once

#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace sandbox {

class SessionLock {
 public:
  // Does not wait for an owner: kConflict when there is one. kNotFound when there is no directory.
  static base::Result<SessionLock> take(const std::string& session_directory);

  // Returns whether a box, or a server that is at work there, owns it.
  static bool is_held(const std::string& session_directory);

  // Returns the open file: who inherits it owns the session too.
  [[nodiscard]] int fd() const { return file_.get(); }

 private:
  explicit SessionLock(base::UniqueFd file) : file_(std::move(file)) {}

  base::UniqueFd file_;
};

}  // namespace sandbox
