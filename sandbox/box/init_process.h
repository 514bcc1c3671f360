// The box's pid 1 as hutch-box sees it: starts hutch-init, asks it for processes, hears of ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/wire/init_protocol.h"

namespace sandbox::box {

struct SpawnRequest {
  std::string directory;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<int> descriptors;          // borrowed: stdin, stdout, stderr, channel
  bool copy = false;                     // in a warm init: a copy of it, not `arguments`
};

class InitProcess {
 public:
  struct Events {
    std::function<void(pid_t pid, int wait_status)> exited;
    std::function<void(pid_t pid)> stopped;            // by a signal
    std::function<void(const std::string& why)> lost;  // once; nothing of the box runs any more
  };

  struct Recipe {
    std::string program;           // hutch-init
    std::string zygote_directory;  // empty: none
    std::string plan;
    // Makes the mounts that the plan says are sent; it is called for each attempt, which uses them
    // up.
    std::function<base::Result<std::vector<base::UniqueFd>>()> make_mounts;
    std::chrono::milliseconds patience{10'000};  // for the box to be up
  };

  // Blocks until the box is up. The error names the step that failed. From the
  // zygote of that directory, or where it has none that answers, from the program.
  static base::Result<std::unique_ptr<InitProcess>> start(EventLoop& loop, const Recipe& recipe,
                                                          Events events);
  ~InitProcess();
  InitProcess(const InitProcess&) = delete;
  InitProcess& operator=(const InitProcess&) = delete;

  // The pid is that of the box's pid namespace.
  base::Result<pid_t> spawn(const SpawnRequest& request);
  // Returns a socket that is connected, or about to be, to a TCP port of the box's loopback; not
  // blocking. `family`: AF_INET or AF_INET6.
  base::Result<base::UniqueFd> connect(int family, std::uint16_t port);
  void signal(pid_t pid, int number, wire::SignalTarget target);
  void signal_all(int number);
  // Calls back once every signal asked for until now has been sent: what starts afterwards cannot
  // be hit by it. Never, when the box ends first.
  void after_signals(std::function<void()> then);

  // Returns the sockets that the plan asks for, in its order, once.
  [[nodiscard]] std::vector<base::UniqueFd> take_sockets() { return std::move(sockets_); }
  // Opens more sockets in the network of the box as it is; `plan` says nothing else. `program` is
  // as in a recipe. Works for a box that is paused, too: nothing in it takes part.
  [[nodiscard]] base::Result<std::vector<base::UniqueFd>> listen(const std::string& program,
                                                                 const std::string& plan) const;
  // Returns an O_PATH directory descriptor of the box's root.
  [[nodiscard]] int root_fd() const { return root_.get(); }
  [[nodiscard]] pid_t host_pid() const { return pid_; }
  // Returns whether somebody has killed it: with the freezer of cgroup version 1 it ends only once
  // it goes on, and says nothing before.
  [[nodiscard]] bool is_killed() const;
  // Returns a borrowed descriptor. is_alive() says whether the number is still init's.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  // Returns whether it is a copy of the zygote, which can be copied further.
  [[nodiscard]] bool warm() const { return warm_; }
  // Returns 0 where the kernel has no Landlock.
  [[nodiscard]] int landlock_abi() const { return landlock_abi_; }

  // Ends everything in the box: the kernel kills a pid namespace with its pid 1.
  void kill();

 private:
  InitProcess(EventLoop& loop, Events events) : loop_(loop), events_(std::move(events)) {}

  using Clock = std::chrono::steady_clock;

  base::Status fork_from_zygote(const Recipe& recipe);
  base::Status launch(const Recipe& recipe);
  static base::Status send_mounts(int socket, const Recipe& recipe);
  // Waits until the box is up, for the first answer only until `first_answer`: a zygote has a short
  // time for it.
  base::Status wait_until_ready(const Recipe& recipe, Clock::time_point first_answer);
  // Tells what was killed before the box was up, see was_killed(), as a limit of the machine.
  [[nodiscard]] base::Error explained(base::Error failure,
                                      const base::UniqueFd& outside_half) const;
  base::Status take_socket(base::UniqueFd socket);
  void end_process();
  static base::Result<wire::InitHead> receive(int socket, std::string& text, base::UniqueFd& fd,
                                              Clock::time_point deadline);
  // Returns the answer of this type to what was asked with this sequence, and in `fd` the
  // descriptor that came with it.
  base::Result<wire::InitHead> answer_to(std::uint32_t sequence, wire::InitMessage type,
                                         base::UniqueFd& fd);
  void read_events();
  void report(const wire::InitHead& head);
  void passed(std::uint32_t sequence);
  void report_lost(const std::string& why);

  EventLoop& loop_;
  Events events_;
  base::UniqueFd socket_;
  base::UniqueFd pidfd_;
  base::UniqueFd root_;
  base::UniqueFd network_;
  std::vector<base::UniqueFd> sockets_;
  bool warm_ = false;
  int landlock_abi_ = 0;
  pid_t pid_ = -1;
  std::uint32_t sequence_ = 0;
  std::map<std::uint32_t, std::function<void()>> barriers_;
  bool lost_ = false;
};

}  // namespace sandbox::box
