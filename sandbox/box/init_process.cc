#include "sandbox/box/init_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "base/process.h"
#include "base/unix_socket.h"
#include "sandbox/host_capacity.h"
#include "sandbox/wire/zygote_protocol.h"

namespace sandbox::box {
namespace {

using base::Error;
using wire::InitHead;
using wire::InitMessage;

constexpr std::chrono::seconds kAnswerTimeout{10};
constexpr std::chrono::milliseconds kDeathPatience{500};
constexpr int kSendTimeoutSeconds = 2;
// A zygote that is busy with others takes a few milliseconds for each of them; one that is stopped
// shall not keep sessions from starting plainly.
constexpr std::chrono::milliseconds kZygotePatience{1000};
constexpr std::chrono::seconds kEndPatience{5};

std::string_view bytes_of(const InitHead& head) {
  return {reinterpret_cast<const char*>(&head), sizeof head};
}

void append_string(std::string& packet, const std::string& text) {
  packet += text;
  packet += '\0';
}

// A NUL would end the string early on the other side and shift all that follow.
bool has_nul(const std::vector<std::string>& strings) {
  for (const std::string& text : strings) {
    if (text.find('\0') != std::string::npos) return true;
  }
  return false;
}

}  // namespace

base::Result<std::unique_ptr<InitProcess>> InitProcess::start(EventLoop& loop, const Recipe& recipe,
                                                              Events events) {
  std::unique_ptr<InitProcess> init(new InitProcess(loop, std::move(events)));
  if (recipe.zygote_directory.empty() || !init->fork_from_zygote(recipe).ok()) {
    init->end_process();
    if (auto status = init->launch(recipe); !status.ok()) {
      auto failure = std::move(status).error().context("start the box");
      // No namespace more (user.max_*_namespaces), no mount more (fs.mount-max): init writes to no
      // disk that could be full.
      if (failure.os_errno == ENOSPC) failure.kind = Error::Kind::kCapacity;
      return failure;
    }
  }
  TRY(loop.watch(init->socket_.get(), EPOLLIN,
                 [raw = init.get()](std::uint32_t) { raw->read_events(); }));
  return init;
}

InitProcess::~InitProcess() {
  loop_.forget(socket_.get());
  end_process();
}

// The wait is short: SIGKILL of a pid 1 ends its whole namespace before it becomes a zombie.
void InitProcess::end_process() {
  kill();
  if (pid_ > 0 && ::waitpid(pid_, nullptr, __WALL) < 0 && pidfd_.valid()) {
    // The zygote's child.
    (void)base::wait_for(pidfd_.get(), POLLIN, Clock::now() + kEndPatience);
  }
  pid_ = -1;
  pidfd_.reset();
  root_.reset();
  network_.reset();
  sockets_.clear();
  socket_.reset();
  warm_ = false;
}

void InitProcess::kill() {
  if (pidfd_.valid()) (void)::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
}

// proc_pid_status(5) has one line for the signals that wait for one thread, and another for those
// that wait for all of them.
bool InitProcess::is_killed() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigPnd:") && !line.starts_with("ShdPnd:")) continue;
    const auto waiting = std::strtoull(line.c_str() + sizeof "SigPnd:" - 1, nullptr, 16);
    if ((waiting & (1ULL << (SIGKILL - 1))) != 0) return true;
  }
  return false;
}

// Before anybody reads there: they wait in the socket until init comes to them.
base::Status InitProcess::send_mounts(int socket, const Recipe& recipe) {
  const std::vector<base::UniqueFd> mounts = TRY(recipe.make_mounts());
  InitHead head;
  head.type = InitMessage::kMount;
  for (const base::UniqueFd& mount : mounts) {
    const int fd = mount.get();
    TRY(base::send_packet(socket, bytes_of(head), &fd, 1));
  }
  return base::done();
}

base::Status InitProcess::fork_from_zygote(const Recipe& recipe) {
  const auto first_answer = Clock::now() + kZygotePatience;
  const base::UniqueFd place =
      TRY(base::open_file(AT_FDCWD, recipe.zygote_directory, O_PATH | O_DIRECTORY));
  const base::UniqueFd zygote =
      TRY(base::connect_to(place.get(), wire::kZygoteSocket, kZygotePatience, SOCK_SEQPACKET));
  base::SocketPair pair = TRY(base::make_socket_pair(SOCK_SEQPACKET));
  TRY(send_mounts(pair.ours.get(), recipe));
  const base::UniqueFd plan_fd = TRY(base::make_memory_file("hutch-plan", recipe.plan));
  const wire::ZygoteRequest request(wire::ZygoteMessage::kBox);
  const int fds[] = {plan_fd.get(), pair.theirs.get()};
  TRY(base::send_packet(zygote.get(), {reinterpret_cast<const char*>(&request), sizeof request},
                        fds, std::size(fds)));
  pair.theirs.reset();
  TRY(take_socket(std::move(pair.ours)));
  warm_ = true;
  return wait_until_ready(recipe, first_answer);
}

base::Status InitProcess::launch(const Recipe& recipe) {
  base::SocketPair pair = TRY(base::make_socket_pair(SOCK_SEQPACKET));
  TRY(send_mounts(pair.ours.get(), recipe));
  const base::UniqueFd plan_fd = TRY(base::make_memory_file("hutch-plan", recipe.plan));
  const base::UniqueFd null = TRY(base::open_file(AT_FDCWD, "/dev/null", O_RDWR));
  base::SpawnOptions options;
  options.arguments = {recipe.program};
  options.descriptors = {null.get(), null.get(), null.get(), plan_fd.get(), pair.theirs.get()};
  const pid_t outside_half = TRY(base::spawn(options));
  pair.theirs.reset();
  base::Status ready = take_socket(std::move(pair.ours));
  if (ready.ok()) ready = wait_until_ready(recipe, Clock::now() + recipe.patience);
  if (!ready.ok()) {
    const base::UniqueFd outside(static_cast<int>(::syscall(SYS_pidfd_open, outside_half, 0)));
    ready = explained(std::move(ready).error(), outside);
  }
  // It has ended, unless it hangs. Not reaped yet, so the id is still its own.
  if (!ready.ok()) (void)::kill(outside_half, SIGKILL);
  int status = 0;
  (void)::waitpid(outside_half, &status, 0);
  return ready;
}

Error InitProcess::explained(Error failure, const base::UniqueFd& outside_half) const {
  for (const int pidfd : {outside_half.get(), pidfd_.get()}) {
    if (pidfd < 0 || failure.kind == Error::Kind::kCapacity) continue;
    // Its socket is closed a moment before it has ended.
    (void)base::wait_for(pidfd, POLLIN, Clock::now() + kDeathPatience);
    if (!was_killed(pidfd).value_or(false)) continue;
    return base::error(Error::Kind::kCapacity,
                       "hutch-init was killed while it started, as the kernel does where memory "
                       "is short");
  }
  return failure;
}

base::Status InitProcess::take_socket(base::UniqueFd socket) {
  socket_ = std::move(socket);
  // A send that init does not take must not hold up the box for ever.
  const timeval patience{kSendTimeoutSeconds, 0};
  if (::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0) {
    return Error::from_errno("setsockopt SO_SNDTIMEO");
  }
  return base::done();
}

base::Status InitProcess::wait_until_ready(const Recipe& recipe, Clock::time_point first_answer) {
  const auto deadline = Clock::now() + recipe.patience;
  bool is_ready = false;
  while (!is_ready) {
    std::string text;
    base::UniqueFd fd;
    const auto patience = pidfd_.valid() ? deadline : first_answer;
    auto received = receive(socket_.get(), text, fd, patience);
    if (!received.ok()) {
      auto failure = std::move(received).error();
      // It has got no time on a processor, with so many others at work.
      if (Clock::now() >= patience) failure.kind = Error::Kind::kCapacity;
      return failure;
    }
    const InitHead head = received.value();
    if (head.type == InitMessage::kFailed) {
      errno = head.value;
      return Error::from_errno(text);
    }
    if (head.type == InitMessage::kClone) {
      pidfd_ = std::move(fd);
      pid_ = head.pid;
    } else if (head.type == InitMessage::kRoot) {
      root_ = std::move(fd);
    } else if (head.type == InitMessage::kListener) {
      sockets_.push_back(std::move(fd));
    } else if (head.type == InitMessage::kNetwork) {
      network_ = std::move(fd);
    } else if (head.type == InitMessage::kReady) {
      is_ready = true;
      landlock_abi_ = head.value;
    }
  }
  if (!root_.valid()) return base::error(Error::Kind::kInternal, "init came without its root");
  if (!pidfd_.valid()) return base::error(Error::Kind::kInternal, "init came without its pidfd");
  if (!network_.valid()) return base::error(Error::Kind::kInternal, "init came without a network");
  return base::done();
}

base::Result<InitHead> InitProcess::receive(int socket, std::string& text, base::UniqueFd& fd,
                                            Clock::time_point deadline) {
  const short events = TRY(base::wait_for(socket, POLLIN, deadline));
  if (events == 0) return base::error(Error::Kind::kUnavailable, "init does not answer");
  base::Packet packet = TRY(base::receive_packet(socket, wire::kInitMessageBytesMax));
  InitHead head;
  if (packet.bytes.empty()) return base::error(Error::Kind::kUnavailable, "init has ended");
  if (packet.bytes.size() < sizeof head) return base::error(Error::Kind::kInternal, "init: short");
  std::memcpy(&head, packet.bytes.data(), sizeof head);
  if (head.magic != wire::kInitMagic) return base::error(Error::Kind::kInternal, "init: magic");
  text = packet.bytes.substr(sizeof head);
  fd = std::move(packet.fd);
  return head;
}

base::Result<pid_t> InitProcess::spawn(const SpawnRequest& request) {
  if (lost_) return base::error(Error::Kind::kUnavailable, "the box has ended");
  if (has_nul(request.arguments) || has_nul(request.environment)) {
    return base::error(Error::Kind::kInvalid, "a NUL byte in an argument or environment variable");
  }
  InitHead head;
  head.type = request.copy && warm_ ? InitMessage::kCopy : InitMessage::kSpawn;
  head.sequence = ++sequence_;
  head.argument_count = static_cast<std::uint16_t>(request.arguments.size());
  head.environment_count = static_cast<std::uint16_t>(request.environment.size());
  std::string packet(bytes_of(head));
  append_string(packet, request.directory);
  for (const std::string& text : request.arguments) append_string(packet, text);
  for (const std::string& text : request.environment) append_string(packet, text);
  if (packet.size() > wire::kInitMessageBytesMax ||
      request.arguments.size() + request.environment.size() + 1 > wire::kSpawnStringsMax) {
    return base::error(Error::Kind::kLimit, "too many or too large environment variables");
  }
  auto sent = base::send_packet(socket_.get(), packet, request.descriptors.data(),
                                request.descriptors.size());
  if (!sent.ok()) return std::move(sent).error().context("start " + request.arguments[0]);
  base::UniqueFd nothing;
  const InitHead reply = TRY(answer_to(head.sequence, InitMessage::kSpawned, nothing));
  if (reply.value == 0) return static_cast<pid_t>(reply.pid);
  errno = reply.value;
  return Error::from_errno("start " + request.arguments[0]);
}

base::Result<base::UniqueFd> InitProcess::connect(int family, std::uint16_t port) {
  if (lost_) return base::error(Error::Kind::kUnavailable, "the box has ended");
  InitHead head;
  head.type = InitMessage::kConnect;
  head.sequence = ++sequence_;
  head.pid = family;
  head.value = port;
  TRY(base::send_packet(socket_.get(), bytes_of(head), nullptr, 0));
  base::UniqueFd connected;
  const InitHead reply = TRY(answer_to(head.sequence, InitMessage::kConnected, connected));
  if (reply.value == 0 && connected.valid()) return connected;
  errno = reply.value;
  auto failure = Error::from_errno("connect to port " + std::to_string(port));
  // The second and third: there is no such family here, or no address of it.
  if (reply.value == ECONNREFUSED || reply.value == EAFNOSUPPORT || reply.value == EADDRNOTAVAIL) {
    failure.kind = Error::Kind::kNotFound;
  }
  return failure;
}

base::Result<std::vector<base::UniqueFd>> InitProcess::listen(const std::string& program,
                                                              const std::string& plan) const {
  base::SocketPair pair = TRY(base::make_socket_pair(SOCK_SEQPACKET));
  const base::UniqueFd plan_fd = TRY(base::make_memory_file("hutch-plan", plan));
  const base::UniqueFd null = TRY(base::open_file(AT_FDCWD, "/dev/null", O_RDWR));
  base::SpawnOptions options;
  options.arguments = {program, "--network"};
  options.descriptors = {null.get(),    null.get(),        null.get(),
                         plan_fd.get(), pair.theirs.get(), network_.get()};
  const pid_t opener = TRY(base::spawn(options));
  pair.theirs.reset();
  std::vector<base::UniqueFd> sockets;
  base::Status failure = base::done();
  for (bool is_ready = false; !is_ready && failure.ok();) {
    std::string text;
    base::UniqueFd fd;
    const auto head = receive(pair.ours.get(), text, fd, Clock::now() + kAnswerTimeout);
    if (!head.ok()) {
      failure = head.error();
    } else if (head.value().type == InitMessage::kFailed) {
      errno = head.value().value;
      failure = Error::from_errno(text);
    } else if (head.value().type == InitMessage::kListener) {
      sockets.push_back(std::move(fd));
    }
    is_ready = head.ok() && head.value().type == InitMessage::kReady;
  }
  if (!failure.ok()) (void)::kill(opener, SIGKILL);  // not reaped yet, so the id is still its own
  (void)::waitpid(opener, nullptr, 0);
  TRY(failure);
  return sockets;
}

base::Result<InitHead> InitProcess::answer_to(std::uint32_t sequence, InitMessage type,
                                              base::UniqueFd& fd) {
  // News of other processes may come first: it is reported when this call is over.
  const auto deadline = Clock::now() + kAnswerTimeout;
  std::vector<InitHead> others;
  while (true) {
    std::string text;
    base::UniqueFd carried;
    const auto received = receive(socket_.get(), text, carried, deadline);
    if (!received.ok()) {
      // An init that does not answer holds nothing any more: the box ends.
      loop_.after(std::chrono::milliseconds(0),
                  [this, why = received.error().message] { report_lost(why); });
      return received.error();
    }
    const InitHead& reply = received.value();
    if (reply.type == InitMessage::kExited || reply.type == InitMessage::kStopped) {
      others.push_back(reply);
    }
    if (reply.type == InitMessage::kPassed) {
      loop_.after(std::chrono::milliseconds(0),
                  [this, sequence = reply.sequence] { passed(sequence); });
    }
    if (reply.type != type || reply.sequence != sequence) continue;
    for (const InitHead& other : others) {
      loop_.after(std::chrono::milliseconds(0), [this, other] { report(other); });
    }
    fd = std::move(carried);
    return reply;
  }
}

void InitProcess::signal(pid_t pid, int number, wire::SignalTarget target) {
  InitHead head;
  head.type = InitMessage::kSignal;
  head.pid = pid;
  head.value = number;
  head.target = target;
  // A box that is gone is reported by the read side.
  (void)base::send_packet(socket_.get(), bytes_of(head), nullptr, 0);
}

void InitProcess::signal_all(int number) {
  InitHead head;
  head.type = InitMessage::kSignalAll;
  head.value = number;
  (void)base::send_packet(socket_.get(), bytes_of(head), nullptr, 0);
}

void InitProcess::after_signals(std::function<void()> then) {
  InitHead head;
  head.type = InitMessage::kBarrier;
  head.sequence = ++sequence_;
  barriers_.emplace(head.sequence, std::move(then));
  // An init that takes no message has sent no signal either, and the next spawn notices it.
  if (!base::send_packet(socket_.get(), bytes_of(head), nullptr, 0).ok()) passed(head.sequence);
}

void InitProcess::passed(std::uint32_t sequence) {
  const auto found = barriers_.find(sequence);
  if (found == barriers_.end()) return;
  const auto then = std::move(found->second);
  barriers_.erase(found);
  then();
}

void InitProcess::report(const InitHead& head) {
  if (head.type == InitMessage::kExited) events_.exited(head.pid, head.value);
  if (head.type == InitMessage::kStopped) events_.stopped(head.pid);
}

void InitProcess::read_events() {
  // A spawn since the loop looked may have taken what was there: then there is nothing to wait for.
  const auto now = Clock::now();
  const auto there = base::wait_for(socket_.get(), POLLIN, now);
  if (there.ok() && there.value() == 0) return;
  std::string text;
  base::UniqueFd fd;
  const auto head = receive(socket_.get(), text, fd, now);
  if (!head.ok()) return report_lost(head.error().message);
  report(head.value());
  if (head.value().type == InitMessage::kPassed) passed(head.value().sequence);
  if (head.value().type == InitMessage::kFailed) report_lost(text);
}

void InitProcess::report_lost(const std::string& why) {
  if (lost_) return;
  lost_ = true;
  loop_.forget(socket_.get());
  kill();
  events_.lost(why);
}

}  // namespace sandbox::box
