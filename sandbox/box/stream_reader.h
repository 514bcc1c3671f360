// The read end of a pipe from the box, poured into the stream file of whichever run is on.
#pragma once

#include <functional>
#include <memory>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/stream_file.h"

namespace sandbox::box {

// Lives in the loop until the last writer has closed the pipe: a process that a run left behind may
// go on printing, and what it prints is kept with that run.
class StreamReader : public std::enable_shared_from_this<StreamReader> {
 public:
  // Says whose output comes through the pipe: one run's, or that of one run after the other.
  enum class Runs { kOne, kMany };
  // Reads nothing before there is a target: what is written earlier waits for it.
  static base::Result<std::shared_ptr<StreamReader>> start(EventLoop& loop, base::UniqueFd pipe,
                                                           Runs runs);

  // Sets where bytes go from now on, and whom to tell. Without a file they are dropped.
  void set_target(std::shared_ptr<StreamFile> file, std::function<void()> on_output);
  // Nobody is told any more; bytes still go to the file.
  void stop_telling() { on_output_ = nullptr; }

  // Reads no more, for ever: who goes on writing gets SIGPIPE.
  void close();

  // Returns whether somebody may still write into the pipe.
  [[nodiscard]] bool is_open() const { return pipe_.valid(); }

  // Takes everything that is in the pipe now.
  void drain();

 private:
  StreamReader(EventLoop& loop, base::UniqueFd pipe, Runs runs)
      : loop_(loop), pipe_(std::move(pipe)), runs_(runs) {}
  bool read_some();  // false when the pipe is empty or at its end
  void watch();
  void stop_watching();

  EventLoop& loop_;
  base::UniqueFd pipe_;
  const Runs runs_;
  bool watched_ = false;
  std::shared_ptr<StreamFile> file_;
  std::function<void()> on_output_;
};

}  // namespace sandbox::box
