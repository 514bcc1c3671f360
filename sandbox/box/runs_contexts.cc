// Interpreters that some runs have for themselves: named by whoever submits them, and there until
// they are ended or the box is.
#include <algorithm>
#include <utility>

#include "sandbox/box/runs.h"

namespace sandbox::box {

using base::Error;

Runs::Interpreter Runs::interpreter_of_run(const Run& run) {
  return {interpreter_of(run.language), run.context};
}

// Bash keeps its state in files of the session, SQL its tables: a second one would share them.
base::Status Runs::check_context(const RunRequest& request) const {
  if (request.context.empty()) return base::done();
  const Language language = interpreter_of(request.language);
  if (language != Language::kPython && language != Language::kJavaScript) {
    return base::error(Error::Kind::kUnsupported,
                       std::string(name_of(language)) + " has one context in a session");
  }
  const auto known = contexts();
  const auto found = known.find(request.context);
  if (found != known.end() && found->second.language != language) {
    return base::error(Error::Kind::kInvalid, "this context is one of another language");
  }
  const auto there = slots_.find({language, request.context});
  if (there != slots_.end() && there->second.is_over) {
    return base::error(Error::Kind::kConflict, "this context is being ended");
  }
  if (found == known.end() && known.size() >= kContextsMax) {
    return base::error(Error::Kind::kLimit, "this session already has " +
                                                std::to_string(kContextsMax) +
                                                " contexts: end one of them first");
  }
  return base::done();
}

std::map<std::string, RunContext> Runs::contexts() const {
  std::map<std::string, RunContext> result;
  for (const auto& [interpreter, slot] : slots_) {
    if (!interpreter.context.empty() && !slot.is_over) {
      result.emplace(interpreter.context, RunContext{interpreter.language, slot.directory});
    }
  }
  return result;
}

base::Status Runs::end_context(const std::string& context) {
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&context](const auto& entry) {
    return entry.first.context == context && !entry.second.is_over;
  });
  if (context.empty() || found == slots_.end()) {
    return base::error(Error::Kind::kNotFound, "there is no context " + context);
  }
  Slot& slot = found->second;
  slot.is_over = true;
  for (const JobPointer& job : std::deque<JobPointer>(slot.queue)) TRY(cancel(job->run.run_id));
  if (slot.current) stop(*slot.current, Cause::kCancelled);
  forget_ended_contexts();
  return base::done();
}

void Runs::forget_ended_contexts() {
  for (auto next = slots_.begin(); next != slots_.end();) {
    const auto one = next++;
    Slot& slot = one->second;
    if (!slot.is_over || slot.current || !slot.queue.empty()) continue;
    if (slot.worker) slot.worker->kill_group();
    retire(std::move(slot.worker));
    slots_.erase(one);
  }
}

}  // namespace sandbox::box
