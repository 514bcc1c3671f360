// The frames between hutch-box and one runner (format: ../wire/frame.h, messages:
// ../runners/README.md).
//
// Two pipes and no socket: over a socket, code in the box could send descriptors whose last close
// takes as long as it likes, and shut either direction down.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/wire/frame.h"

namespace sandbox::box {

// The largest frames an interpreter may send: pictures, and JSON.
inline constexpr std::size_t kRunnerFrameBytesMax = 20U << 20;
inline constexpr std::size_t kRunnerJsonBytesMax = 4U << 20;

class RunnerChannel {
 public:
  struct Events {
    // It is called with a message of the runner and the blob that came before it. Both are hostile.
    std::function<void(const nlohmann::json& message, const std::string& blob)> message;
    // The runner has sent no proper frame or message, or too much of unfinished ones; the channel
    // is closed.
    std::function<void(const std::string& why)> broken;
    // The runner has closed its side; ours is closed too.
    std::function<void()> ended;
  };
  struct Ends {
    base::UniqueFd reads;
    base::UniqueFd writes;
  };

  // `theirs` gets the runner's ends.
  static base::Result<std::unique_ptr<RunnerChannel>> open(EventLoop& loop, Events events,
                                                           Ends& theirs);
  ~RunnerChannel() { close(); }
  RunnerChannel(const RunnerChannel&) = delete;
  RunnerChannel& operator=(const RunnerChannel&) = delete;

  // It never blocks: what the pipe does not take is sent when it does.
  void send(const nlohmann::json& message);
  void close();
  [[nodiscard]] bool is_open() const { return ours_.reads.valid(); }
  // Returns whether the runner still holds the end it reads from.
  [[nodiscard]] bool is_read() const;
  // Returns whether something that was sent is still on its way to the runner.
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty(); }

  // A run begins: what comes is read as it comes. Later, or after many frames, it is read slowly.
  void expect_much();

 private:
  RunnerChannel(EventLoop& loop, Events events, Ends ours)
      : loop_(loop),
        events_(std::move(events)),
        ours_(std::move(ours)),
        decoder_(kRunnerFrameBytesMax, kRunnerJsonBytesMax) {}

  void read_some();
  void pause();
  void take_frames();
  void count_held();
  void write_some();
  void stop_writing();

  EventLoop& loop_;
  Events events_;
  Ends ours_;
  wire::FrameDecoder decoder_;
  std::string blob_;
  std::size_t held_bytes_ = 0;  // bytes that have come
  std::string unsent_;
  bool waits_to_write_ = false;
  std::size_t bytes_at_once_ = 0;
  EventLoop::TimerId pause_ = 0;
};

}  // namespace sandbox::box
