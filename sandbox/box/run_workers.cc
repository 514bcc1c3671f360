#include "sandbox/box/run_workers.h"

#include <chrono>
#include <utility>

#include "sandbox/box/run_environment.h"

namespace sandbox::box {

base::Result<RunWorkers::Started> RunWorkers::start(const Job& job, For whom, KeptState* kept,
                                                    Worker::Events events) {
  const bool own = whom != For::kManyRuns;
  Worker::Start start;
  start.profile = TRY(profiles_.of(job.run.language));
  start.environment = environment_of(spec_, start.profile, job, own);
  start.directory = start_directory_of(job.request);
  if (start.profile.process == Profile::Process::kPerRun) start.code = &job.request.code;
  start.owner = spec_.host_uid;
  start.root_fd = init_.root_fd();
  if (whom == For::kOneRun) {
    start.input = job.request.input;
    start.terminal = job.request.terminal;
  }
  if (!own) start.runs = StreamReader::Runs::kMany;
  if (whom == For::kNextRun) {
    start.code = nullptr;
    start.code_follows = true;
    start.extra_arguments = {"--ahead"};
  }
  if (start.code != nullptr && job.request.background) start.extra_arguments = {"--background"};
  if (start.code != nullptr && job.request.restart) start.extra_arguments = {"--restart"};
  KeptState::Ends state;
  if (kept != nullptr) {
    state = TRY(kept->give());
    if (!start.profile.state_pipes_block) {
      TRY(base::set_nonblocking(state.takes.get()));
      TRY(base::set_nonblocking(state.answers.get()));
    }
    start.state_fds = state.all();
  }
  Started started;
  started.reads_state = state.stored.snapshot.valid();
  auto worker = Worker::start(loop_, init_, start, std::move(events));
  if (!worker.ok() && started.reads_state) kept->was_not_given();
  started.worker = TRY(std::move(worker));
  return started;
}

void RunWorkers::retire(EventLoop& loop, std::unique_ptr<Worker> worker) {
  if (!worker) return;
  // The next run of this language has another worker, and is answered by that one only.
  worker->stop_listening();
  loop.after(std::chrono::milliseconds(0), [keep = std::shared_ptr<Worker>(std::move(worker))] {});
}

}  // namespace sandbox::box
