// hutch-box: one live session on the host's side. It owns the cgroup, the deadlines, the output
// files and the queue of runs, and outlives the server that started it.
//
// Started by hutch with the box specification on descriptor 3 and a pipe on descriptor 4, on which
// it writes one line of JSON, {"ok":true} or the error, and closes it. The lock on box.lock in the
// session's directory is held for as long as this process lives.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "sandbox/base/fd.h"
#include "sandbox/base/process.h"
#include "sandbox/box/box.h"
#include "sandbox/wire/box_protocol.h"
#include "sandbox/wire/json.h"

namespace {

using namespace sandbox;
using base::Error;

constexpr int kLockAttempts = 20;
constexpr int kLockPauseMs = 10;
constexpr int kSpecFd = 3;
constexpr int kReadyFd = 4;
constexpr std::size_t kSpecBytesMax = 1 << 20;

base::Result<BoxSpec> read_spec() {
  const std::string text = TRY(base::read_all(kSpecFd, kSpecBytesMax));
  ::close(kSpecFd);
  const nlohmann::json value = TRY(wire::parse_json(text));
  return spec_from_json(value);
}

base::Result<base::UniqueFd> take_lock(const BoxSpec& spec) {
  base::UniqueFd lock = TRY(base::open_file(AT_FDCWD, spec.session_directory + "/box.lock",
                                            O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  // A server that only looks holds it for a moment; a box holds it for good.
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
    if (errno != EWOULDBLOCK && errno != EINTR) return Error::from_errno("lock box.lock");
    (void)::poll(nullptr, 0, kLockPauseMs);
  }
  return base::error(Error::Kind::kConflict, "another box of this session is running");
}

base::Status say_ready(const base::Status& status) {
  const nlohmann::json line =
      status.ok() ? nlohmann::json{{"ok", true}} : wire::error_reply(status.error());
  auto said = base::write_all(kReadyFd, wire::print_json(line) + "\n");
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
  const base::UniqueFd lock = TRY(take_lock(spec));
  const auto loop = TRY(box::EventLoop::create());
  const auto box = TRY(box::Box::start(*loop, std::move(spec)));
  TRY(say_ready(base::done()));
  return loop->run();
}

}  // namespace

int main() {
  ::signal(SIGPIPE, SIG_IGN);
  (void)::umask(022);
  // A box with more descriptors on their way than we may have open would take away ours (unix(7)).
  base::raise_descriptor_limit();
  if (::fcntl(kReadyFd, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(kSpecFd, F_SETFD, FD_CLOEXEC) != 0) {
    return refuse_to_start();
  }
  const base::Status status = serve();
  if (status.ok()) return 0;
  (void)say_ready(status);
  std::fprintf(stderr, "hutch-box: %s\n", status.error().message.c_str());
  return 1;
}
