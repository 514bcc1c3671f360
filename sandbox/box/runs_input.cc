// Runs in the background may have a standard input; these functions hand it out and end it.
#include "sandbox/box/runs.h"

namespace sandbox::box {

using base::Error;

base::Result<Runs::RunInput> Runs::input_of(const std::string& run_id) {
  const auto found = jobs_.find(run_id);
  if (found == jobs_.end()) {
    const bool has_been = find(run_id) != nullptr;
    return base::error(Error::Kind::kNotFound,
                       has_been ? "this run has ended" : "no such run in this box");
  }
  const Job& job = *found->second;
  if (job.request.input == Input::kNothing) {
    return base::error(Error::Kind::kInvalid, "this run was started without a standard input");
  }
  if (job.worker == nullptr || job.worker->input_fd() < 0) {
    return base::error(Error::Kind::kNotFound, "the standard input of this run was closed");
  }
  return RunInput{job.worker->input_fd(), job.request.input == Input::kTerminal};
}

base::Status Runs::end_input(const std::string& run_id) {
  const RunInput input = TRY(input_of(run_id));
  if (input.is_terminal) {
    return base::error(Error::Kind::kInvalid,
                       "the standard input of this run is a terminal: send it the key Ctrl-D");
  }
  jobs_.at(run_id)->worker->end_input();
  return base::done();
}

bool Runs::is_in_terminal(const std::string& run_id) const {
  const auto found = jobs_.find(run_id);
  return found != jobs_.end() && found->second->request.input == Input::kTerminal;
}

}  // namespace sandbox::box
