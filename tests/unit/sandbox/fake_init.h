// Stands for the pid 1 of a box, for tests of what asks it for processes: it says that each was
// started, starts none, and keeps what it was told.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/process.h"
#include "base/unix_socket.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/init_process.h"
#include "sandbox/wire/init_protocol.h"
#include "sandbox/wire/zygote_protocol.h"
#include "tests/support/temporary_directory.h"

class FakeInit {
 public:
  // A process that was asked for. Its descriptors are the test's.
  struct Process {
    pid_t pid = -1;
    std::vector<std::string> strings;  // the directory, the arguments, the environment
    std::vector<base::UniqueFd> descriptors;
    [[nodiscard]] bool has(std::string_view text) const {
      return std::find(strings.begin(), strings.end(), text) != strings.end();
    }
  };
  struct Signal {
    pid_t pid = -1;
    int number = 0;
    sandbox::wire::SignalTarget target{};
    bool operator==(const Signal&) const = default;
  };
  static constexpr pid_t kFirstPid = 100;  // the first process; the next has the next number
  // It waits so long for what does not come.
  static constexpr std::chrono::seconds kPatience{20};

  explicit FakeInit(sandbox::box::EventLoop& loop) : loop_(loop) {
    listening_ =
        base::listen_at(zygote_.fd(), sandbox::wire::kZygoteSocket, SOCK_SEQPACKET).value();
    // The pidfd of init is of this process: it is killed with the box, and ends when its input
    // does.
    base::Pipe input = base::make_pipe().value();
    const base::UniqueFd nothing = base::open_file(AT_FDCWD, "/dev/null", O_RDWR).value();
    base::SpawnOptions options;
    options.arguments = {"/bin/cat"};
    options.descriptors = {input.read_end.get(), nothing.get(), nothing.get()};
    pid_ = base::spawn(options).value();
    input_ = std::move(input.write_end);
    thread_ = std::thread([this] { serve(); });
    sandbox::box::InitProcess::Recipe recipe;
    recipe.program = "/nonexistent";
    recipe.zygote_directory = zygote_.path();
    recipe.make_mounts = [] {
      return base::Result<std::vector<base::UniqueFd>>(std::vector<base::UniqueFd>());
    };
    sandbox::box::InitProcess::Events events;
    events.exited = [](pid_t, int) {};
    events.stopped = [](pid_t) {};
    events.lost = [](const std::string&) {};
    init_ = sandbox::box::InitProcess::start(loop, recipe, std::move(events)).value();
  }
  ~FakeInit() {
    init_.reset();
    thread_.join();
  }
  FakeInit(const FakeInit&) = delete;
  FakeInit& operator=(const FakeInit&) = delete;

  sandbox::box::InitProcess& process() { return *init_; }
  [[nodiscard]] const TemporaryDirectory& root() const { return root_; }

  // Takes the processes that were asked for since the last call. A spawn is answered only once it
  // is there.
  std::vector<Process> take_processes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(processes_, {});
  }
  [[nodiscard]] std::vector<Signal> signals() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return signals_;
  }
  // Returns the signals, once all that was asked for until now has come.
  [[nodiscard]] std::vector<Signal> all_signals() {
    bool passed = false;
    init_->after_signals([&passed] { passed = true; });
    EXPECT_TRUE(turn_until([&passed] { return passed; }));
    return signals();
  }
  // Lets the loop work until then. False: that never came.
  [[nodiscard]] bool turn_until(const std::function<bool()>& is_so) {
    const auto latest = std::chrono::steady_clock::now() + kPatience;
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > latest) return false;
      auto tick = loop_.after(std::chrono::milliseconds(5), [] {});
      if (!loop_.turn().ok()) return false;
      loop_.cancel(tick);
    }
    return true;
  }

 private:
  using Head = sandbox::wire::InitHead;
  using Message = sandbox::wire::InitMessage;
  struct Packet {
    std::string bytes;
    std::vector<base::UniqueFd> descriptors;
  };

  static Packet receive(int socket) {
    Packet packet;
    packet.bytes.resize(sandbox::wire::kInitMessageBytesMax);
    iovec part{packet.bytes.data(), packet.bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * sandbox::wire::kSpawnDescriptorsMax)];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    packet.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    const cmsghdr* const first = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (first == nullptr || first->cmsg_type != SCM_RIGHTS) return packet;
    for (std::size_t i = 0; i < (first->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(first) + i * sizeof fd, sizeof fd);
      packet.descriptors.emplace_back(fd);
    }
    return packet;
  }

  static void say(int socket, Message type, Head head, int fd = -1) {
    head.magic = sandbox::wire::kInitMagic;
    head.type = type;
    EXPECT_TRUE(base::send_packet(socket, {reinterpret_cast<const char*>(&head), sizeof head}, &fd,
                                  fd < 0 ? 0 : 1)
                    .ok());
  }

  void serve() {
    const base::UniqueFd asked(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const Packet request = receive(asked.get());  // the plan and our end
    ASSERT_EQ(request.descriptors.size(), 2U);
    const int socket = request.descriptors[1].get();
    const base::UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    Head head;
    head.pid = pid_;
    say(socket, Message::kClone, head, pidfd.get());
    say(socket, Message::kRoot, {}, root_.fd());
    say(socket, Message::kNetwork, {}, root_.fd());
    say(socket, Message::kReady, {});
    for (Packet packet = receive(socket); packet.bytes.size() >= sizeof head;
         packet = receive(socket)) {
      std::memcpy(&head, packet.bytes.data(), sizeof head);
      take(socket, head, std::move(packet));
    }
  }

  void take(int socket, Head head, Packet packet) {
    if (head.type == Message::kSpawn || head.type == Message::kCopy) {
      Process process;
      process.descriptors = std::move(packet.descriptors);
      for (std::size_t at = sizeof head; at < packet.bytes.size();) {
        process.strings.emplace_back(packet.bytes.c_str() + at);
        at += process.strings.back().size() + 1;
      }
      head.pid = process.pid = next_pid_++;
      head.value = 0;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        processes_.push_back(std::move(process));
      }
      return say(socket, Message::kSpawned, head);
    }
    if (head.type == Message::kBarrier) return say(socket, Message::kPassed, head);
    if (head.type != Message::kSignal) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    signals_.push_back({head.pid, head.value, head.target});
  }

  sandbox::box::EventLoop& loop_;
  const TemporaryDirectory zygote_;
  const TemporaryDirectory root_;
  base::UniqueFd listening_;
  base::UniqueFd input_;
  pid_t pid_ = -1;
  pid_t next_pid_ = kFirstPid;
  mutable std::mutex mutex_;
  std::vector<Process> processes_;
  std::vector<Signal> signals_;
  std::thread thread_;
  std::unique_ptr<sandbox::box::InitProcess> init_;
};
