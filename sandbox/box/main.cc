// hutch-box: one live session on the host's side. It owns the cgroup, the deadlines, the output
// files and the queue of runs, and outlives the server that started it.
//
// Started by hutch with the box specification on descriptor 3, a pipe on descriptor 4, on which it
// writes one line of JSON, {"ok":true} or the error, and closes it, and the locked file of
// sandbox/session_lock.h on descriptor 5: the session is its own for as long as it lives.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/process.h"
#include "sandbox/box/box.h"
#include "sandbox/host_capacity.h"
#include "sandbox/time_slice.h"
#include "sandbox/wire/box_protocol.h"

namespace {

using namespace sandbox;
using base::Error;

constexpr int kSpecFd = 3;
constexpr int kReadyFd = 4;
constexpr int kLockFd = 5;
constexpr std::size_t kSpecBytesMax = 1 << 20;

base::Result<BoxSpec> read_spec() {
  const std::string text = TRY(base::read_all(kSpecFd, kSpecBytesMax));
  ::close(kSpecFd);
  const nlohmann::json value = TRY(base::parse_json(text));
  return spec_from_json(value);
}

// Changes nothing where the file is locked, as it is when a server has opened it.
base::Status check_lock() {
  if (::flock(kLockFd, LOCK_EX | LOCK_NB) == 0) return base::done();
  if (errno == EWOULDBLOCK) {
    return base::error(Error::Kind::kConflict, "another process has this session's lock");
  }
  return Error::from_errno("own the session: flock");
}

base::Status say_ready(const base::Status& status) {
  const nlohmann::json line =
      status.ok() ? nlohmann::json{{"ok", true}} : wire::error_reply(status.error());
  auto said = base::write_all(kReadyFd, base::print_json(line) + "\n");
  // A server that is gone by now needs no answer; its successor finds the socket.
  if (!said.ok() && said.error().os_errno != EPIPE) return said;
  ::close(kReadyFd);
  return base::done();
}

// Without a server's pipe and specification there is nothing to do.
int refuse_to_start() {
  if (errno != EBADF) {
    (void)say_ready(Error::from_errno("mark the descriptors of the server"));
    return 1;
  }
  std::fprintf(stderr, "hutch-box is started by hutch; there is nothing to do with it by hand\n");
  return 2;
}

base::Status serve() {
  BoxSpec spec = TRY(read_spec());
  TRY(check_lock());
  const auto loop = TRY(box::EventLoop::create());
  const auto box = TRY(box::Box::start(*loop, std::move(spec), kLockFd));
  TRY(say_ready(base::done()));
  return loop->run();
}

}  // namespace

int main() {
  ::signal(SIGPIPE, SIG_IGN);
  (void)::umask(022);
  // A box with more descriptors on their way than we may have open would take away ours (unix(7)).
  base::raise_descriptor_limit();
  // A kernel that refuses it lets hutch-box answer later beside programs that never rest.
  (void)set_time_slice(kShortSliceNs);
  for (const int fd : {kReadyFd, kSpecFd, kLockFd}) {
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return refuse_to_start();
  }
  const base::Status status = serve();
  if (status.ok()) return 0;
  const Error failure = as_capacity(status.error());
  (void)say_ready(failure);
  std::fprintf(stderr, "hutch-box: %s\n", failure.message.c_str());
  return 1;
}
