// The zygote's loop: a warmed interpreter that forks itself into boxes, where the copy is pid 1.
//
// Compiled with the other files of this folder into hutch-zygote.so, which the zygote's Python
// loads when everything worth having is imported (sandbox/runners/zygote). From then on that
// process runs nothing but this loop, so what it forks is always the same. A box is entered by the
// same steps as from hutch-init, before anything hostile exists in it; its pid 1 then forks
// interpreters that never exec and so have its posture, as programs that it execs have.
//
// The outside half is a vfork(2): it shares this memory, and nothing of it is in a box. The one
// copy of the memory is made by its clone3(), which also makes pid 1 a child of this process.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sandbox/init/receive.h"
#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "sandbox/wire/zygote_protocol.h"

// These are in the Python that has loaded this.
extern "C" {
void PyOS_BeforeFork();
void PyOS_AfterFork_Child();
}

namespace sandbox::init {
namespace {

constexpr int kConnectionsMax = 256;
constexpr int kDescriptorsOfBox = 2;  // the plan and the socket to hutch-box
constexpr int kLookMs = 1000;         // how often it looks whether anybody needs it
constexpr time_t kAloneSeconds = 10;  // without a server
// A connection without a message; our own programs send theirs at once.
constexpr time_t kSilentSeconds = 5;

struct Connection {
  int fd;
  bool attached;
  time_t since;
};

Connection g_connections[kConnectionsMax];
int g_connection_count = 0;

time_t now() {
  timespec time{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

bool keep(int fd, bool attached) {
  if (g_connection_count == kConnectionsMax) return false;
  g_connections[g_connection_count++] = {fd, attached, now()};
  return true;
}

void drop(int index) {
  (void)::close(g_connections[index].fd);
  g_connections[index] = g_connections[--g_connection_count];
}

// Files in /proc and sockets in a directory that is ours alone; still, this costs nothing.
bool is_of_our_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

void accept_all(int listening) {
  while (true) {
    const int fd = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (!is_of_our_user(fd) || !keep(fd, false)) (void)::close(fd);
  }
}

// Runs in the outside half, with this process's memory, and in what it clones.
[[nodiscard]] Ending enter(const int* fds) {
  // Both first out of the way of the numbers they are to have.
  const int plan = ::fcntl(fds[0], F_DUPFD, kBoxFd + 1);
  const int box = ::fcntl(fds[1], F_DUPFD, kBoxFd + 1);
  if (plan < 0 || box < 0 || ::dup2(plan, kPlanFd) < 0 || ::dup2(box, kBoxFd) < 0 ||
      ::fcntl(kBoxFd, F_SETFD, FD_CLOEXEC) != 0 || ::dup2(STDIN_FILENO, STDERR_FILENO) < 0) {
    ::_exit(1);  // the last of these is the log of the host
  }
  return live(true);
}

// True in a copy that is to be an interpreter; it is somewhere below vfork(), in memory of its own.
bool start_box(const int* fds) {
  const pid_t outside_half = ::vfork();  // NOLINT: the memory is shared on purpose, so also below
  if (outside_half != 0) {
    if (!forget_plan()) ::_exit(1);  // else later boxes would have it
    return false;
  }
  if (enter(fds) == Ending::kInterpreter) return true;  // NOLINT
  ::_exit(0);
}

// True in a copy only.
bool answer(int index) {
  wire::ZygoteRequest request;
  const Message message =
      receive_message(g_connections[index].fd, &request, sizeof request, MSG_DONTWAIT);
  const bool good = message.size == sizeof request && request.of_this_build();
  const wire::ZygoteMessage type = request.type;
  bool copy = false;
  if (good && type == wire::ZygoteMessage::kBox && message.fd_count == kDescriptorsOfBox) {
    copy = start_box(message.fds);
  }
  if (copy) return true;
  for (int i = 0; i < message.fd_count; ++i) (void)::close(message.fds[i]);
  if (good && type == wire::ZygoteMessage::kAttach && !g_connections[index].attached) {
    g_connections[index].attached = true;
  } else {
    drop(index);
  }
  return false;
}

// True in a copy only.
bool answer_all(const pollfd* entries) {
  // From the end: what is dropped gives its place to one that has been looked at.
  for (int i = g_connection_count - 1; i >= 0; --i) {
    if (entries[i].revents != 0) {
      if (answer(i)) return true;
    } else if (!g_connections[i].attached && now() - g_connections[i].since > kSilentSeconds) {
      drop(i);
    }
  }
  return false;
}

bool anybody_attached() {
  for (int i = 0; i < g_connection_count; ++i) {
    if (g_connections[i].attached) return true;
  }
  return false;
}

void reap_all() {
  while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
  }
}

// Returns the modification time of a file, zero when there is none. The times of the files that
// this process is made of tell whether they were replaced.
timespec time_of(const char* path) {
  struct stat status {};
  return ::stat(path, &status) == 0 ? status.st_mtim : timespec{};
}

bool same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

constexpr int kWatchedMax = 32;
timespec g_times[kWatchedMax];

bool replaced(const char* const* watched) {
  for (int i = 0; i < kWatchedMax && watched[i] != nullptr; ++i) {
    if (!same(time_of(watched[i]), g_times[i])) return true;
  }
  return false;
}

// True in a copy; false when nobody needs the zygote any more.
bool serve_zygote(int listening, const char* const* watched) {
  static pollfd entries[kConnectionsMax + 1];
  time_t needed = now();
  while (true) {
    const int count = g_connection_count;
    for (int i = 0; i < count; ++i) entries[i] = {g_connections[i].fd, POLLIN, 0};
    entries[count] = {listening, POLLIN, 0};
    const int ready = ::poll(entries, static_cast<nfds_t>(count) + 1, kLookMs);
    reap_all();
    if (anybody_attached()) needed = now();
    if (now() - needed > kAloneSeconds || replaced(watched)) return false;
    if (ready <= 0) continue;
    if (answer_all(entries)) return true;
    if ((entries[count].revents & POLLIN) != 0) accept_all(listening);
  }
}

}  // namespace
}  // namespace sandbox::init

// The zygote's Python calls this, holding the interpreter's lock. `attached` is the connection of
// the server that has started it. Returns 1 in each interpreter of a box, 0 when the zygote is to
// end.
extern "C" int hutch_zygote(int listening, int attached, const char* const* watched) {
  using namespace sandbox::init;
  for (int i = 0; i < kWatchedMax && watched[i] != nullptr; ++i) g_times[i] = time_of(watched[i]);
  (void)keep(attached, true);
  // Python's work before a fork is done once, here, for every copy of this moment.
  PyOS_BeforeFork();
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  (void)::sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  if (!serve_zygote(listening, watched)) return 0;
  PyOS_AfterFork_Child();
  return 1;
}

extern "C" const char* const* hutch_arguments() { return sandbox::init::copied_arguments(); }
extern "C" const char* const* hutch_environment() { return sandbox::init::copied_environment(); }
