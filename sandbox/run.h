// A run: one piece of code given to a session, and how it ended. How it ended is a value, never an
// error of hutch. Plain data; the same names on the wire, in record.json and in the database.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "sandbox/left_running.h"
#include "sandbox/run_trace.h"

namespace sandbox {

enum class Language { kPython, kJavaScript, kTypeScript, kSql, kBash };
enum class RunStatus { kQueued, kRunning, kCompleted, kFailed, kTimedOut, kCancelled };
enum class Cause {
  kException,
  kExit,
  kSignal,
  kTimeout,
  kCancelled,
  kOom,
  kPids,
  kDisk,
  kOutput,
  kInterpreterDied,
  kSandboxLost,
};

const char* name_of(Language language);
const char* name_of(RunStatus status);
const char* name_of(Cause cause);
std::optional<Language> find_language(std::string_view name);
std::optional<RunStatus> find_run_status(std::string_view name);
std::optional<Cause> find_cause(std::string_view name);

inline bool is_terminal(RunStatus status) {
  return status != RunStatus::kQueued && status != RunStatus::kRunning;
}
// Returns whether it is a limit on memory, processes, disk or output.
inline bool is_limit(Cause cause) {
  return cause == Cause::kOom || cause == Cause::kPids || cause == Cause::kDisk ||
         cause == Cause::kOutput;
}

// The name of a context, such as "python-x7k2", has at most this many bytes.
inline constexpr std::size_t kContextNameMax = 64;
inline constexpr std::size_t kContextsMax = 16;  // in a session, beside the shared interpreters
struct RunContext {
  Language language = Language::kPython;
  std::string directory;
};

// Input says what the standard input of a run's process is.
enum class Input { kNothing, kPipe, kTerminal };

// A TerminalSize is in characters.
struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};

struct RunRequest {
  std::string run_id;
  Language language = Language::kPython;
  std::string code;
  std::int64_t timeout_seconds = 0;  // 0: none, for background runs only
  std::int64_t most_seconds = 0;     // that it could have asked for; 0: nobody says
  bool background = false;
  bool restart = false;  // in a fresh interpreter
  // Runs of a context have an interpreter of their own, in Python, JavaScript and TypeScript.
  // Empty: the one that all others share.
  std::string context = {};
  std::string directory = {};  // in which its interpreter starts, if it does; empty: /workspace
  // It is for background runs only. In a terminal, all that the process writes is its stdout.
  Input input = Input::kNothing;
  TerminalSize terminal;
  std::map<std::string, std::string> env;
  // It is for background runs only: where its box ends before it does, the session's next box has
  // one with the same code, which stands in place of this one.
  bool restarts_on_wake = false;
  std::string in_place_of = {};  // the run that a box before had; empty: none
  // If the run installs packages, this names their manager and them, "pip numpy": until it has
  // ended, code that misses a package is told to wait for it.
  std::string installs = {};
  RunTrace trace = {};  // the way until here
};

struct RunError {
  std::string name;
  std::string message;
  std::string traceback;  // empty: none
  Cause cause = Cause::kException;
  std::string survived;
  std::string lost;
};

struct FileChange {
  std::string path;    // absolute, below /workspace
  std::string change;  // created, modified or deleted
  std::int64_t bytes = 0;
  // The run was stopped or killed while it wrote there, as far as could be seen.
  bool possibly_incomplete = false;
};

// A NetworkUse says what a run has asked of the network; hosts as "host:port", each once.
struct NetworkUse {
  static constexpr std::size_t kListedMax = 50;  // for each kind
  struct Refusal {
    std::string host;
    std::string reason;
    // It is the rule that would allow it; empty: it was refused for something else than the rules.
    std::string missing_rule = {};
    bool host_is_allowed = false;  // and it is this request that no rule allows
  };
  std::vector<std::string> allowed;
  std::vector<Refusal> refused;
  std::int64_t bytes = 0;  // both ways, of connections that ended

  [[nodiscard]] bool empty() const { return allowed.empty() && refused.empty() && bytes == 0; }
};

struct Run {
  // They are not in line: they need all of json.hpp.
  Run();
  ~Run();
  Run(const Run&);
  Run& operator=(const Run&);
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;

  std::string run_id;
  Language language = Language::kPython;
  RunStatus status = RunStatus::kQueued;
  bool background = false;
  std::string context = {};  // as its request names it
  // Counts the runs that its interpreter has had since that started, with this one; 0 in the
  // background.
  std::int64_t execution_count = 0;
  std::int64_t queued_at_ms = 0;
  std::int64_t started_at_ms = 0;   // 0: not yet
  std::int64_t finished_at_ms = 0;  // 0: not yet
  std::int64_t duration_ms = 0;
  std::int64_t timeout_seconds = 0;  // as its request has it
  std::int64_t left_ms = 0;          // until timeout_seconds are over, while it runs
  bool is_waking = false;            // its interpreter reads what was stored of the session
  std::string waits_for = {};        // while it is queued: the run that its interpreter is at
  std::optional<int> exit_code;
  std::int64_t stdout_bytes = 0;  // kept in the file
  std::int64_t stderr_bytes = 0;
  std::int64_t image_count = 0;         // outputs with an image_path
  std::vector<nlohmann::json> outputs;  // as in the contract, checked by the box
  std::optional<RunError> error;
  std::vector<FileChange> files_changed;
  std::int64_t files_changed_total = 0;  // also counts changes that files_changed has no room for
  NetworkUse network;
  std::string note;
  static constexpr std::size_t kLeftRunningMax = 2;
  std::vector<LeftRunning> left_running;  // one for each that tells
  bool outputs_dropped = false;           // it has shown more than a run may keep, as the note says
  // It has met that the session has no network: whoever shows the run says so, and what helps.
  bool lacks_network = false;
  // These are the limits, by their names in kLimitRows, of which the note advises a session with
  // more.
  std::vector<std::string> short_of;
  RunTrace trace;
};

nlohmann::json network_use_to_json(const NetworkUse& use);

// Returns which run it is and how far it is, without what it has given so far, which may be
// megabytes.
Run without_results(const Run& run);

// Returns `run` as one JSON object, for the wire to the server, record.json and the database
// column.
nlohmann::json run_to_json(const Run& run);
// A record.json that has more is not read.
inline constexpr std::size_t kRecordBytesMax = std::size_t{32} << 20;

// Fails with kInvalid for what run_to_json() cannot have made.
base::Result<Run> run_from_json(const nlohmann::json& value);

nlohmann::json request_to_json(const RunRequest& request);
base::Result<RunRequest> request_from_json(const nlohmann::json& value);

}  // namespace sandbox
