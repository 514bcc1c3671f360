#include "sandbox/box/ending.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <cerrno>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/box/refusals.h"
#include "sandbox/box/remarks.h"

namespace sandbox::box {
namespace {

using nlohmann::json;

constexpr std::size_t kMessageBytesMax = 20'000;
constexpr std::size_t kTracebackBytesMax = 100'000;
RunStatus status_of(Cause cause) {
  if (cause == Cause::kTimeout) return RunStatus::kTimedOut;
  if (cause == Cause::kCancelled) return RunStatus::kCancelled;
  return RunStatus::kFailed;
}

const char* name_of_stop(Cause cause) {
  switch (cause) {
    case Cause::kTimeout:
      return "TimeoutError";
    case Cause::kCancelled:
      return "Cancelled";
    case Cause::kOom:
      return "OutOfMemory";
    case Cause::kPids:
      return "ProcessLimit";
    case Cause::kDisk:
      return "DiskLimit";
    case Cause::kOutput:
      return "OutputLimit";
    default:
      return "SandboxError";
  }
}

// Returns what helps a run that took too long. More is no advice where it had the most.
std::string advice_for_time(const Observed& observed) {
  const std::int64_t seconds = observed.timeout_seconds;
  const std::int64_t most = observed.most_seconds;
  const bool had_all = most > 0 && seconds >= most;
  if (observed.background) {
    return had_all ? "leave timeout_seconds out: then it has no end"
                   : "give it more, or none: timeout_seconds is what you choose";
  }
  if (seconds >= kRunSecondsMax) return "longer work runs with background: true";
  if (!had_all) return "give it more (timeout_seconds), or use background: true";
  const std::string all = std::to_string(most);
  return (observed.limits.run_seconds == most ? "limits.run_seconds is " + all
                                              : all + " is the most here") +
         ": use background: true";
}

std::string message_of_timeout(const Observed& observed) {
  const std::int64_t seconds = observed.timeout_seconds;
  std::string message = "the run took longer than ";
  message += seconds <= 0 ? "it may"
                          : "the " + std::to_string(seconds) +
                                (seconds == 1 ? " second" : " seconds") + " that it had";
  return message + "; " + advice_for_time(observed);
}

std::string message_of_full_memory(const Observed& observed) {
  std::string message = "the session's " + std::to_string(observed.limits.memory_mb) +
                        " MB of memory (limits.memory_mb) were used up and the kernel ended a "
                        "process";
  if (observed.memory_peak_bytes > 0) {
    message += "; at most it used " + std::to_string(observed.memory_peak_bytes >> 20) + " MB";
  }
  return message;
}

std::string message_of_full_heap(const Observed& observed) {
  return "the heap of JavaScript, a part of the session's " +
         std::to_string(observed.limits.memory_mb) +
         " MB of memory (limits.memory_mb), was full and node ended";
}

std::string message_of_disk(DiskLimit limit, const Limits& limits) {
  const std::string bytes = std::to_string(limits.disk_mb) + " MB (limits.disk_mb)";
  const std::string files = std::to_string(limits.files) + " files (limits.files)";
  const auto reached = [](const std::string& what) {
    return "the session's limit of " + what + " was reached; delete something in it";
  };
  switch (limit) {
    case DiskLimit::kBytes:
      return reached(bytes);
    case DiskLimit::kFiles:
      return reached(files);
    case DiskLimit::kBytesAndFiles:
      return reached(bytes + " and of " + files);
    case DiskLimit::kNotCounted:
      return "what the session has on the disk could not be counted, so its limits of " + bytes +
             " and " + files + " could not be held";
    default:
      return "the host's disk, on which the session lies, is nearly full; delete what is not "
             "needed";
  }
}

std::string message_of_stop(Cause cause, const Observed& observed) {
  const Limits& limits = observed.limits;
  switch (cause) {
    case Cause::kTimeout:
      return message_of_timeout(observed);
    case Cause::kCancelled:
      return "the run was cancelled";
    case Cause::kOom:
      return message_of_full_memory(observed);
    case Cause::kPids:
      return "the session's limit of " + std::to_string(limits.processes) +
             " processes and threads (limits.processes) was reached";
    case Cause::kDisk:
      return message_of_disk(observed.disk_limit, limits);
    case Cause::kOutput:
      return "the run wrote more than " + std::to_string(limits.output_mb) +
             " MB (limits.output_mb) to one stream; write to a file instead";
    default:
      return "the sandbox ended";
  }
}

// Returns whether forks were refused, as an exception or a program's last words say. Anything can
// be written there, so it counts only when refusals were counted, too.
bool forks_were_refused(const std::string& words, const Observed& observed) {
  return observed.forks_refused && tells_of_refused_fork(words);
}

Cause cause_of_exception(const RunError& failure, bool interrupted, const Observed& observed) {
  const std::string words = failure.message + "\n" + failure.traceback + observed.last_words;
  if (is_too_large_error(failure.message)) return Cause::kDisk;
  if (observed.disk_used_up && tells_of_full_disk(words)) return Cause::kDisk;
  if (forks_were_refused(words, observed)) return Cause::kPids;
  if (observed.out_of_memory) return Cause::kOom;
  if (interrupted) return Cause::kSignal;
  return failure.name == "SystemExit" ? Cause::kExit : Cause::kException;
}

constexpr const char* kNotKeptByBash =
    "bash did not come to its end (exec?): working directory and variables are as before this run";

// bash keeps its state in a file between runs, if it comes to its end; what runs in the background
// has a copy of its own.
bool has_state_of_bash(const Run& run) {
  return run.language == Language::kBash && !run.background;
}

// Who ran out of memory asks what else of the session is gone: the rest need not.
std::string kept_by_others(const Run& run, const Observed& observed) {
  return run.error->cause == Cause::kOom ? observed.kept_elsewhere : "";
}

std::string kept(const Run& run, const Observed& observed) {
  if (has_state_of_bash(run)) {
    return "files kept" + kept_by_others(run, observed) +
           (observed.bash_state_kept ? "; working directory and variables kept"
                                     : "; working directory and variables as before this run");
  }
  if (observed.own_process) {
    return "files kept" + kept_by_others(run, observed) +
           "; the session's interpreters are not affected";
  }
  return run.language == Language::kSql ? "tables kept, files kept" : "variables kept, files kept";
}

void say_what_is_left(Run& run, const Observed& observed) {
  if (has_state_of_bash(run) || observed.own_process) {
    run.error->survived = kept(run, observed);
    return;
  }
  run.error->survived = "files kept" + observed.kept_elsewhere;
  const std::string restarted = std::string(name_of(run.language)) + " interpreter restarted: ";
  if (run.language == Language::kSql) {  // the database is a file
    run.error->survived += ", tables of SQL kept";
    run.error->lost = restarted + "temporary tables, settings and what was not committed are lost";
  } else if (observed.variables_stored) {
    const std::string& last = observed.stored_run_id;
    run.error->lost =
        restarted +
        (last.empty() ? "what this run made of variables; the next has those that were last stored"
                      : "what was made since " + last + "; the next has what was stored then");
  } else {
    run.error->lost = restarted + "variables and imports lost";
  }
}

// Something was killed for memory, and the run went on, or its error speaks of what came of that.
void tell_of_full_memory(Run& run, const Observed& observed) {
  if (observed.out_of_memory) add_note(run, message_of_full_memory(observed));
}

// Does so for a run that was stopped: where that was for memory, its error says it.
void tell_of_full_memory_beside_stop(Run& run, const Observed& observed) {
  if (observed.stop_cause != Cause::kOom) tell_of_full_memory(run, observed);
}

void end_stopped(Run& run, Cause cause, const Observed& observed) {
  run.status = status_of(cause);
  run.error = RunError{name_of_stop(cause), message_of_stop(cause, observed), "", cause, "", ""};
}

// It made an exception of its own of the interrupt.
void end_stopped_with(Run& run, const RunError& failure, const Observed& observed) {
  end_stopped(run, *observed.stop_cause, observed);
  run.error->message += "; it ended with " + failure.name + ": " + failure.message;
  run.error->traceback = failure.traceback;
  run.error->survived = kept(run, observed);
  run.exit_code.reset();
}

// It ended well by its own word, also where it has caught the interrupt: what it had met is told.
void end_well(Run& run, const Observed& observed) {
  run.status = RunStatus::kCompleted;
  run.exit_code = 0;
  const Cause met = observed.stop_cause.value_or(Cause::kException);
  // A run that came too late, or has lost output, counts as stopped however it ended.
  if (met == Cause::kTimeout || met == Cause::kOutput) {
    end_stopped(run, met, observed);
    run.error->survived = kept(run, observed);
    run.exit_code.reset();
  } else if (met == Cause::kCancelled) {
    add_note(run, "it was being cancelled when it ended");
  } else if (observed.stop_cause) {
    add_note(run, message_of_stop(met, observed));
  }
  tell_of_full_memory(run, observed);
}

RunError failure_of_exit(int wait_status, int code, const Observed& observed) {
  const bool signalled = WIFSIGNALED(wait_status);
  const Cause full = Cause::kOom;
  if (observed.out_of_memory && code == 128 + SIGKILL) {
    return {name_of_stop(full), message_of_stop(full, observed), "", full, "", ""};
  }
  if (code == 128 + SIGABRT && tells_of_full_heap(observed.last_words)) {
    return {name_of_stop(full), message_of_full_heap(observed), "", full, "", ""};
  }
  RunError failure;
  if (signalled) {
    const char* abbreviation = ::sigabbrev_np(WTERMSIG(wait_status));
    failure.name = std::string("SIG") + (abbreviation != nullptr ? abbreviation : "?");
    failure.message = "ended by " + failure.name;
    // SIGKILL is nothing a program does to itself by accident: something ended the interpreter.
    failure.cause = WTERMSIG(wait_status) == SIGKILL && !observed.own_process
                        ? Cause::kInterpreterDied
                        : Cause::kSignal;
    if (WTERMSIG(wait_status) == SIGXFSZ) failure.cause = Cause::kDisk;
  } else {
    failure.name = "ExitStatus";
    failure.message = "exited with status " + std::to_string(code);
    failure.cause = Cause::kExit;
  }
  const bool exited = failure.cause == Cause::kExit;
  if (exited && observed.disk_used_up && tells_of_full_disk(observed.last_words)) {
    failure.cause = Cause::kDisk;
  }
  // node aborts when it gets no thread.
  const bool aborted = signalled && WTERMSIG(wait_status) == SIGABRT;
  if ((exited && forks_were_refused(observed.last_words, observed)) ||
      (aborted && observed.forks_refused)) {
    failure.cause = Cause::kPids;
  }
  return failure;
}

}  // namespace

void end_by_message(Run& run, const json& done, const Observed& observed) {
  const bool interrupted = base::boolean_or(done, "interrupted", false);
  run.exit_code = static_cast<int>(base::integer_or(done, "exit_code", 0) & 0xff);
  if (const std::string note = base::string_or(done, "note"); !note.empty()) {
    add_note(run, note.substr(0, kMessageBytesMax));
  }
  if (observed.stop_cause && (interrupted || observed.children_interrupted)) {
    end_stopped(run, *observed.stop_cause, observed);
    run.error->survived = kept(run, observed);
    run.exit_code.reset();
    return tell_of_full_memory_beside_stop(run, observed);
  }
  if (base::boolean_or(done, "ok", false)) return end_well(run, observed);
  run.status = RunStatus::kFailed;
  if (*run.exit_code == 0) run.exit_code = 1;
  const json raw = done.value("error", json::object());
  RunError failure;
  failure.name = base::string_or(raw, "name", "Error").substr(0, 200);
  failure.message = base::string_or(raw, "message").substr(0, kMessageBytesMax);
  failure.traceback = base::string_or(raw, "traceback").substr(0, kTracebackBytesMax);
  if (observed.stop_cause) {
    end_stopped_with(run, failure, observed);
    return tell_of_full_memory_beside_stop(run, observed);
  }
  failure.cause = cause_of_exception(failure, interrupted, observed);
  run.error = std::move(failure);
  run.error->survived = kept(run, observed);
  tell_of_full_memory(run, observed);
}

void end_by_exit(Run& run, int wait_status, const Observed& observed) {
  const int code =
      WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  run.exit_code = code;
  if (code == 0 && observed.own_process) {
    if (has_state_of_bash(run) && !observed.bash_state_kept) add_note(run, kNotKeptByBash);
    return end_well(run, observed);
  }
  if (observed.stop_cause) {
    end_stopped(run, *observed.stop_cause, observed);
  } else {
    run.status = RunStatus::kFailed;
    run.error = failure_of_exit(wait_status, code, observed);
  }
  say_what_is_left(run, observed);
  const bool is_killed_for_memory = !observed.stop_cause && code == 128 + SIGKILL;
  if (!is_killed_for_memory) tell_of_full_memory_beside_stop(run, observed);
}

void end_without_start(Run& run, const base::Error& why) {
  Cause cause = Cause::kInterpreterDied;
  if (why.os_errno == EAGAIN) {
    cause = Cause::kPids;
  } else if (why.kind == base::Error::Kind::kUnavailable && why.os_errno != ETOOMANYREFS) {
    // An init that cannot be reached is the end of the box; a descriptor that cannot be passed to
    // it, or a program that cannot be executed, is not.
    cause = Cause::kSandboxLost;
  }
  end_without_process(run, cause, why.message);
}

void end_without_process(Run& run, Cause cause, const std::string& message) {
  run.status = status_of(cause);
  run.error = RunError{name_of_stop(cause), message, "", cause, "files kept", ""};
}

}  // namespace sandbox::box
