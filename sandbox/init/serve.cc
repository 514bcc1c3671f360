// pid 1 of a box that is up: starts what hutch-box asks for, reaps everything, and ends when
// hutch-box is gone. It touches no data of a run.
//
// Signals are blocked and read from a signalfd: pid 1 of a namespace has no default actions, and
// blocked ones are still queued (pid_namespaces(7), signalfd(2)).
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox/init/receive.h"
#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "sandbox/limits.h"

namespace sandbox::init {
namespace {

constexpr int kSpawnTimeoutMs = 2000;
constexpr int kReapsInARow = 256;
// More than hutch-box ever has at once: an interpreter for each language and context, its
// background runs.
constexpr int kSpawnedMax = kBackgroundRunsMax + 64;

alignas(wire::InitHead) char g_message[wire::kInitMessageBytesMax + 1];

// Lists the processes that hutch-box asked for and has not been told the end of; 0 is a free place.
pid_t g_spawned[kSpawnedMax];

struct Request {
  wire::InitHead head;
  Message message;
  const char* text;
  std::size_t text_size;
};
static_assert(wire::kSpawnDescriptorsMax <= Message::kDescriptorsMax);

// False when hutch-box is gone or does not make sense: then the box ends.
bool receive(Request& request) {
  request.message = receive_message(kBoxFd, g_message, wire::kInitMessageBytesMax, 0);
  const ssize_t size = request.message.size;
  request.head = {};  // handle() takes this for nothing
  if (size < 0) return errno == EINTR || errno == EAGAIN;
  if (size < static_cast<ssize_t>(sizeof request.head)) return false;
  std::memcpy(&request.head, g_message, sizeof request.head);
  g_message[size] = '\0';
  request.text = g_message + sizeof request.head;
  request.text_size = static_cast<std::size_t>(size) - sizeof request.head;
  return request.head.magic == wire::kInitMagic && request.message.whole;
}

// In the child: its own session, its descriptors and its directory. -1 and errno when it cannot be.
int take_place(const Request& request, const char* directory, int& status_fd) {
  (void)::setsid();
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
  // First out of the way of 0..3, then down: a source may sit where a target belongs.
  int moved[wire::kSpawnDescriptorsMax];
  bool good = true;
  for (int i = 0; i < request.message.fd_count; ++i) {
    moved[i] = ::fcntl(request.message.fds[i], F_DUPFD_CLOEXEC, 16);
    good = good && moved[i] >= 0;
  }
  status_fd = ::fcntl(status_fd, F_DUPFD_CLOEXEC, 32);
  for (int i = 0; good && i < request.message.fd_count; ++i) good = ::dup2(moved[i], i) == i;
  for (int fd = request.message.fd_count; fd < 16; ++fd) (void)::close(fd);
  return good ? ::chdir(directory) : -1;
}

[[noreturn]] void give_up(int status_fd) {
  const int error = errno;
  (void)!::write(status_fd, &error, sizeof error);
  ::_exit(127);
}

// The text of a spawn, split: the directory, then arguments and environment, nullptr after each.
struct Strings {
  const char* all[wire::kSpawnStringsMax + 4];
  const char** arguments;
  const char** environment;
};
Strings g_strings;

bool split_strings(const Request& request) {
  const int count = 1 + request.head.argument_count + request.head.environment_count;
  if (request.head.argument_count == 0 || count > wire::kSpawnStringsMax) return false;
  const char* next = request.text;
  const char* end = request.text + request.text_size;
  int slot = 0;
  for (int i = 0; i < count; ++i) {
    const void* nul = std::memchr(next, '\0', static_cast<std::size_t>(end - next));
    if (nul == nullptr) return false;
    g_strings.all[slot++] = next;
    if (i == 0 || i == request.head.argument_count) g_strings.all[slot++] = nullptr;
    next = static_cast<const char*>(nul) + 1;
  }
  g_strings.all[slot] = nullptr;
  g_strings.arguments = g_strings.all + 2;
  g_strings.environment = g_strings.arguments + request.head.argument_count + 1;
  return true;
}

[[noreturn]] void run_child(const Request& request, int status_fd) {
  // A warmed pid 1 is a copy of a Python, which ignores some signals, and bash could not change
  // that.
  for (int signal = 1; signal < _NSIG; ++signal) (void)::signal(signal, SIG_DFL);
  if (take_place(request, g_strings.all[0], status_fd) == 0) {
    (void)::ioctl(0, TIOCSCTTY,
                  0);  // where it is a terminal, it is that of this session of processes
    // Everything else closes on exec.
    (void)::execve(g_strings.arguments[0], const_cast<char**>(g_strings.arguments),
                   const_cast<char**>(g_strings.environment));
  }
  give_up(status_fd);
}

// When memory runs out the kernel shall choose among what the code runs, not this copy's father,
// which looks as large as the warmed interpreter is. Only a dumpable process may write here.
void be_chosen_before_init() {
  constexpr int kScoreMax = 1000;
  constexpr int kMoreThanInit = 250;
  char text[16] = {};
  const int fd = ::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  if (::read(fd, text, sizeof text - 1) > 0) {
    const int score = static_cast<int>(std::strtol(text, nullptr, 10)) + kMoreThanInit;
    const int length =
        std::snprintf(text, sizeof text, "%d", score < kScoreMax ? score : kScoreMax);
    (void)!::write(fd, text, static_cast<std::size_t>(length));
  }
  (void)::close(fd);
}

// Makes the child a copy of this process, without execve(): what that would have done to the
// process is done here.
void be_copy(const Request& request, int status_fd) {
  bool good = take_place(request, g_strings.all[0], status_fd) == 0;
  // Nothing of earlier requests may be left over.
  char* const rest = const_cast<char*>(request.text) + request.text_size;
  std::memset(rest, 0, static_cast<std::size_t>(g_message + sizeof g_message - rest));
  const auto close_from_to = [](int first, unsigned last) {
    return ::syscall(SYS_close_range, first, last, 0) == 0;
  };
  good = good && close_from_to(request.message.fd_count, static_cast<unsigned>(status_fd) - 1) &&
         close_from_to(status_fd + 1, ~0U) && ::prctl(PR_SET_NAME, "python3") == 0;
  // Last: from here on other processes of the box may look into it, as into any of theirs.
  if (!good || ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) give_up(status_fd);
  be_chosen_before_init();
  // Its end of file says that all is well.
  (void)::close(status_fd);
}

// The place of this process; nullptr when there is none.
pid_t* find_spawned(pid_t pid) {
  for (pid_t& spawned : g_spawned) {
    if (spawned == pid) return &spawned;
  }
  return nullptr;
}

// True in a copy of this process only.
bool spawn(const Request& request, bool warm) {
  const bool copy = request.head.type == wire::InitMessage::kCopy;
  wire::InitHead reply;
  reply.type = wire::InitMessage::kSpawned;
  reply.sequence = request.head.sequence;
  int status[2] = {-1, -1};
  pid_t* const place = find_spawned(0);
  if (!split_strings(request) || request.message.fd_count < 3) {
    reply.value = EINVAL;
  } else if (copy && !warm) {
    reply.value = ENOSYS;
  } else if (place == nullptr) {
    reply.value = EAGAIN;
  } else if (::pipe2(status, O_CLOEXEC) != 0) {
    reply.value = errno;
  } else {
    const pid_t pid = ::fork();
    if (pid == 0 && copy) {
      be_copy(request, status[1]);
      return true;
    }
    if (pid == 0) run_child(request, status[1]);
    reply.pid = pid;
    reply.value = pid < 0 ? errno : 0;
    if (pid > 0) *place = pid;
    (void)::close(status[1]);
    int error = 0;
    // End of file means that the pipe was closed by execve(), or a copy. The child has the user's
    // id already, so the code of the box can stop it here: then it never becomes a program.
    pollfd entry{status[0], POLLIN, 0};
    if (pid > 0 && ::poll(&entry, 1, kSpawnTimeoutMs) == 0) {
      (void)::kill(pid, SIGKILL);
      reply.value = ETIMEDOUT;
    } else if (pid > 0 && ::read(status[0], &error, sizeof error) == sizeof error) {
      reply.value = error;
    }
    (void)::close(status[0]);
  }
  for (int i = 0; i < request.message.fd_count; ++i) (void)::close(request.message.fds[i]);
  (void)send_to_box(reply, -1, nullptr);
  return false;
}

// False when there may be more: who makes zombies fast must not keep requests waiting.
bool reap_some() {
  for (int i = 0; i < kReapsInARow; ++i) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL);
    if (pid <= 0) return true;
    // Others are orphans of the code. To tell of them would be work for hutch-box, which no limit
    // of the session holds, and code could make as much of it as it likes.
    pid_t* const place = find_spawned(pid);
    const bool stopped = WIFSTOPPED(status);
    if (place == nullptr) {
      if (!stopped) note_ending(pid, status);
      continue;
    }
    if (!stopped) *place = 0;
    wire::InitHead head;
    head.type = stopped ? wire::InitMessage::kStopped : wire::InitMessage::kExited;
    head.pid = pid;
    head.value = status;
    (void)send_to_box(head, -1, nullptr);
  }
  return false;
}

void connect_for(const Request& request) {
  wire::InitHead reply;
  reply.type = wire::InitMessage::kConnected;
  reply.sequence = request.head.sequence;
  const int fd =
      connect_to_loopback(request.head.pid, static_cast<std::uint16_t>(request.head.value));
  if (fd < 0) reply.value = errno;
  (void)send_to_box(reply, fd, nullptr);
  if (fd >= 0) (void)::close(fd);
}

void handle(const Request& request) {
  switch (request.head.type) {
    case wire::InitMessage::kSignal: {
      const int pid = request.head.pid;
      // pid 1 is us and 0 or below would mean many.
      if (pid <= 1) return;
      const bool group = request.head.target == wire::SignalTarget::kGroup;
      (void)::kill(group ? -pid : pid, request.head.value);
      return;
    }
    case wire::InitMessage::kConnect:
      connect_for(request);
      return;
    case wire::InitMessage::kSignalAll:
      (void)::kill(-1, request.head.value);
      return;
    case wire::InitMessage::kBarrier: {
      wire::InitHead reply;
      reply.type = wire::InitMessage::kPassed;
      reply.sequence = request.head.sequence;
      (void)send_to_box(reply, -1, nullptr);
      return;
    }
    default:
      return;
  }
}

}  // namespace

int open_signals() {
  sigset_t all;
  sigfillset(&all);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  must(::sigprocmask(SIG_SETMASK, &all, nullptr), "sigprocmask");
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  return must(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
}

const char* const* copied_arguments() { return g_strings.arguments; }
const char* const* copied_environment() { return g_strings.environment; }

Ending serve(int signals, bool warm) {
  static Request request{};
  bool all_reaped = true;
  while (true) {
    pollfd entries[2] = {{kBoxFd, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(entries, 2, all_reaped ? -1 : 0) < 0) continue;
    if ((entries[1].revents & POLLIN) != 0) {
      // One read: the kernel queues SIGCHLD once, however many have ended.
      signalfd_siginfo discard[8];
      (void)!::read(signals, discard, sizeof discard);
      all_reaped = false;
    }
    if (!all_reaped) all_reaped = reap_some();
    if (entries[0].revents != 0) {
      if (!receive(request)) return Ending::kBox;
      const bool starts = request.head.type == wire::InitMessage::kSpawn ||
                          request.head.type == wire::InitMessage::kCopy;
      if (!starts) {
        handle(request);
      } else if (spawn(request, warm)) {
        return Ending::kInterpreter;
      }
    }
  }
}

}  // namespace sandbox::init
