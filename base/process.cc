#include "base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <climits>

namespace base {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  explicit Attributes(bool own_session) {
    ::posix_spawnattr_init(&attributes_);
    sigset_t set;
    sigemptyset(&set);
    ::posix_spawnattr_setsigmask(&attributes_, &set);
    sigfillset(&set);
    ::posix_spawnattr_setsigdefault(&attributes_, &set);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (own_session) flags |= POSIX_SPAWN_SETSID;
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<pid_t> spawn(const SpawnOptions& options) {
  // Sources first go above every target, or one dup2 could overwrite the source of the next.
  std::vector<UniqueFd> moved;
  for (const int fd : options.descriptors) {
    moved.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(options.descriptors.size())));
    if (!moved.back().valid()) return Error::from_errno("fcntl F_DUPFD_CLOEXEC");
  }
  FileActions actions;
  for (std::size_t target = 0; target < moved.size(); ++target) {
    ::posix_spawn_file_actions_adddup2(actions.get(), moved[target].get(),
                                       static_cast<int>(target));
  }
  ::posix_spawn_file_actions_addclosefrom_np(actions.get(), static_cast<int>(moved.size()));
  Attributes attributes(options.own_session);
  const auto argv = pointers(options.arguments);
  const auto environment = pointers(options.environment);
  pid_t pid = -1;
  const int failure = ::posix_spawn(&pid, argv[0], actions.get(), attributes.get(), argv.data(),
                                    environment.data());
  if (failure != 0) {
    errno = failure;
    return Error::from_errno("start " + options.arguments[0]);
  }
  return pid;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // the kernel's own ceiling may be lower
}

Result<std::string> executable_directory() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size < 0) return Error::from_errno("readlink /proc/self/exe");
  const std::string whole(path, static_cast<std::size_t>(size));
  return whole.substr(0, whole.rfind('/'));
}

}  // namespace base
