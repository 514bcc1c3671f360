// A Worker is one process of the box that runs code: a session's interpreter, or the process of a
// single run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/init_process.h"
#include "sandbox/box/profiles.h"
#include "sandbox/box/runner_channel.h"
#include "sandbox/box/stream_reader.h"

namespace sandbox::box {

class Worker {
 public:
  struct Events {
    // It is called with a message of the runner and the blob that came before it. Both are hostile.
    std::function<void(const nlohmann::json& message, const std::string& blob)> message;
    // The channel carried garbage: the process has been killed and its exit will be reported.
    std::function<void(const std::string& why)> broken;
  };
  struct Start {
    Profile profile;
    std::vector<std::string> environment;
    std::vector<std::string> extra_arguments;
    std::string directory;  // in which it starts
    // It is the code of a process per run, which it reads from descriptor 3. Else it gets a
    // channel, as descriptors 3 (to read from) and 4.
    const std::string* code = nullptr;
    // It is set for a process per run whose code give_code() brings later: descriptor 4 has a line
    // then.
    bool code_follows = false;
    // They are borrowed, for a process with a channel: what takes snapshots of its state, as
    // descriptor 5, what answers, as 6, and the files of the last snapshot, from 7 on
    // (KeptState::Ends).
    std::vector<int> state_fds;
    StreamReader::Runs runs = StreamReader::Runs::kOne;
    Input input = Input::kNothing;
    TerminalSize terminal;  // its size, for Input::kTerminal
    int root_fd = -1;       // the box's, whose terminal or /dev/null it has
    // This user has the pipes of its output, so that it can open /dev/stdout; nothing: ours.
    std::optional<uid_t> owner;
  };

  static base::Result<std::unique_ptr<Worker>> start(EventLoop& loop, InitProcess& init,
                                                     const Start& start, Events events);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Sends the message of a run to a process that has a channel.
  void send_run(const nlohmann::json& message);

  // Gives the code, once, to a process that was started without it.
  base::Status give_code(const std::string& code);
  // Returns whether the process has read its code, which one that has ended may not have. What the
  // code does to descriptor 3 shows here, too.
  [[nodiscard]] bool has_read_code() const;

  // Closes the channel for good: what the runner has said and nobody has read yet is no answer to
  // anybody.
  void stop_listening() {
    if (channel_) channel_->close();
  }

  // Returns a borrowed descriptor that writes to its standard input; -1 when it has none, or no
  // more.
  [[nodiscard]] int input_fd() const { return input_.get(); }
  void end_input() { input_.reset(); }

  // Returns false until its runner has said that it is there; a program without a runner has begun.
  [[nodiscard]] bool began() const { return began_; }
  // Returns false once the runner has closed its channel, or when it has not read the run before:
  // it gets no run any more.
  [[nodiscard]] bool usable() const {
    return !channel_ || (channel_->is_read() && !channel_->has_unsent());
  }

  // Sends SIGINT or an interrupt frame, as the runner asked for in its ready message.
  void interrupt();
  void interrupt_group();  // none whose interrupt is a frame
  [[nodiscard]] bool is_interrupted_by_frame() const { return interrupt_by_frame_; }
  void kill_group();
  // Dead children hold their places in the process table until their parent has waited for them.
  void reap_children();
  // Asks an interpreter to store all that it knows, in a snapshot for that wish
  // (KeptState::await()).
  void store(std::int64_t bytes_max, std::int64_t wish);
  // Returns whether it has been interrupted since this was last asked.
  [[nodiscard]] bool take_interrupted() { return std::exchange(interrupted_, false); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] StreamReader& out() { return *out_; }
  [[nodiscard]] StreamReader& err() { return *err_; }

 private:
  Worker(EventLoop& loop, InitProcess& init) : loop_(loop), init_(init) {}

  // These become the standard input, output and errors of the process; in a terminal all are `in`.
  struct Streams {
    base::UniqueFd in;
    base::UniqueFd out;
    base::UniqueFd err;
  };
  base::Result<Streams> open_streams(const Start& start);
  base::Result<Streams> open_terminal_streams(const Start& start);
  base::Status open_channel(Events events, RunnerChannel::Ends& theirs);
  void end_soon();

  EventLoop& loop_;
  InitProcess& init_;
  pid_t pid_ = -1;
  std::unique_ptr<RunnerChannel> channel_;
  base::UniqueFd input_;
  base::UniqueFd code_;  // that follows, or has
  base::UniqueFd code_is_there_;
  EventLoop::TimerId hang_up_ = 0;
  bool interrupt_by_frame_ = false;
  bool interrupted_ = false;
  bool began_ = true;
  std::shared_ptr<StreamReader> out_;
  std::shared_ptr<StreamReader> err_;
};

}  // namespace sandbox::box
