#include "sandbox/box/id_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace sandbox::box {
namespace {

using base::Error;

base::Status write_map(const std::string& path, id_t stored, id_t shown) {
  const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, path, O_WRONLY));
  // In one write: the kernel takes no second one.
  const std::string line = std::to_string(stored) + " " + std::to_string(shown) + " 1\n";
  if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return Error::from_errno("write " + path);
  }
  return base::done();
}

base::Result<base::UniqueFd> map_ids(pid_t pid, const Ids& stored, const Ids& shown) {
  const std::string process = "/proc/" + std::to_string(pid);
  TRY(write_map(process + "/uid_map", stored.uid, shown.uid));
  TRY(write_map(process + "/gid_map", stored.gid, shown.gid));
  return base::open_file(AT_FDCWD, process + "/ns/user", O_RDONLY);
}

}  // namespace

base::Result<base::UniqueFd> make_id_namespace(const Ids& stored, const Ids& shown) {
  // A namespace is made with a process; this one does nothing, and ends when its number is known.
  const pid_t parent = ::getpid();
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  if (pid < 0) return Error::from_errno("clone into a user namespace");
  if (pid == 0) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // It died before: its lock would be held here for ever.
    if (::getppid() != parent) ::_exit(0);
    while (true) (void)::pause();
  }
  auto names = map_ids(pid, stored, shown);
  (void)::kill(pid, SIGKILL);
  (void)::waitpid(pid, nullptr, 0);
  return names;
}

}  // namespace sandbox::box
