#include "tools/setup/profile.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"

namespace tools::setup {

using base::Error;

base::Result<int> Profile::run(const char* mode, bool may_ask) const {
  base::SpawnOptions options;
  options.arguments = {"/bin/sh", script_, mode, programs_};
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    options.environment.emplace_back(*variable);
  }
  if (!may_ask) options.environment.emplace_back("HUTCH_SUDO=-n");
  options.descriptors = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  const auto before = ::signal(SIGCHLD, SIG_DFL);  // else nobody is told how it ended
  const auto pid = base::spawn(options);
  int status = 0;
  const bool is_known = pid.ok() && ::waitpid(pid.value(), &status, 0) == pid.value();
  (void)::signal(SIGCHLD, before);
  if (!pid.ok()) return pid.error();
  if (!is_known) return base::error(Error::Kind::kInternal, script_ + " ended unseen");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

bool Profile::is_needed() const {
  if (::access(script_.c_str(), R_OK) != 0) return false;
  const auto status = run("--is-needed", false);
  return status.ok() && status.value() == 0;
}

base::Status Profile::load(bool may_ask) const {
  if (TRY(run("--if-needed", may_ask)) == 0) return base::done();
  return base::error(Error::Kind::kUnavailable, "the AppArmor profile was not loaded");
}

}  // namespace tools::setup
