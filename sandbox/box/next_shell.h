// NextShell has the shell of the next run of bash started ahead of that. Used from the loop's
// thread.
//
// Bash is a process per run, and most of what a short run costs is its start. So once a session
// uses bash, the shell of the next run is started when one has ended: it has loaded the state, and
// waits for the code.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/job.h"
#include "sandbox/box/kept_shell.h"
#include "sandbox/box/worker.h"

namespace sandbox::box {

class NextShell {
 public:
  struct Of {
    EventLoop& loop;
    int root_fd;            // the box's, borrowed
    KeptShell* kept_shell;  // borrowed: has what the last run has left stored; or null
    // Returns the directory of the runs (RunRequest::directory) for which a shell may be started,
    // or nothing where none may be.
    std::function<std::optional<std::string>()> may_start;
    std::function<base::Result<std::unique_ptr<Worker>>(const std::string& directory)> start;
    std::chrono::milliseconds unused_most{60'000};  // it is a megabyte for nothing
  };
  explicit NextShell(Of of) : of_(std::move(of)) {}

  // Starts one, unless it is there. It ends where no run wants it for a minute.
  void prepare();
  // Prepares a shell that waits for the first run of any for as long as that takes.
  void prepare_to_stay();
  // Calls prepare() in a moment: whoever waits for the end of the last run is told of that first.
  void prepare_soon();
  // It has been told: what prepare_soon() was to do comes next.
  void end_was_told();

  // Returns whether there is one, for a run as this.
  [[nodiscard]] bool waits_for(const Job& job) const;
  // Gives it the run's code and returns it. Where it does not fit the run it is ended, and there is
  // none.
  [[nodiscard]] std::unique_ptr<Worker> take(const Job& job);
  // Ends it, if it is there.
  void drop();
  // Takes it away when that was its process, and returns whether it was.
  [[nodiscard]] bool exited(pid_t pid);

  [[nodiscard]] bool is_there() const { return worker_ != nullptr; }
  [[nodiscard]] pid_t pid() const { return worker_->pid(); }  // only if is_there()

 private:
  const Of of_;
  std::unique_ptr<Worker> worker_;
  std::int64_t state_ = 0;  // bash_state_number(), as it has loaded it
  std::string directory_;   // in which it stands
  EventLoop::TimerId start_ = 0;
  EventLoop::TimerId end_ = 0;
};

}  // namespace sandbox::box
