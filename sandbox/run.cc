#include "sandbox/run.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/random_id.h"
#include "sandbox/limits.h"
#include "sandbox/output.h"

namespace sandbox {
namespace {

using nlohmann::json;

constexpr std::array kLanguages{
    std::pair{Language::kPython, "python"}, std::pair{Language::kJavaScript, "javascript"},
    std::pair{Language::kTypeScript, "typescript"}, std::pair{Language::kSql, "sql"},
    std::pair{Language::kBash, "bash"}};
constexpr std::array kStatuses{
    std::pair{RunStatus::kQueued, "queued"},       std::pair{RunStatus::kRunning, "running"},
    std::pair{RunStatus::kCompleted, "completed"}, std::pair{RunStatus::kFailed, "failed"},
    std::pair{RunStatus::kTimedOut, "timed_out"},  std::pair{RunStatus::kCancelled, "cancelled"}};
constexpr std::array kCauses{std::pair{Cause::kException, "exception"},
                             std::pair{Cause::kExit, "exit"},
                             std::pair{Cause::kSignal, "signal"},
                             std::pair{Cause::kTimeout, "timeout"},
                             std::pair{Cause::kCancelled, "cancelled"},
                             std::pair{Cause::kOom, "oom"},
                             std::pair{Cause::kPids, "pids"},
                             std::pair{Cause::kDisk, "disk"},
                             std::pair{Cause::kOutput, "output"},
                             std::pair{Cause::kInterpreterDied, "interpreter_died"},
                             std::pair{Cause::kSandboxLost, "sandbox_lost"}};

template <typename Table, typename Value>
const char* name_in(const Table& table, Value value) {
  for (const auto& [entry, name] : table) {
    if (entry == value) return name;
  }
  return "";
}

template <typename Value, std::size_t kSize>
std::optional<Value> find_in(const std::array<std::pair<Value, const char*>, kSize>& table,
                             std::string_view name) {
  for (const auto& [entry, text] : table) {
    if (name == text) return entry;
  }
  return std::nullopt;
}

base::Status read_input(const json& value, RunRequest& request) {
  const std::string input = base::string_or(value, "input");
  if (input.empty()) return base::done();
  if (!request.background) return base::invalid("run request: input is for background runs");
  if (input != "pipe" && input != "terminal") return base::invalid("run request: no known input");
  request.input = input == "pipe" ? Input::kPipe : Input::kTerminal;
  const auto size = [&value](const char* name, std::uint16_t usual) {
    const std::int64_t wanted = base::integer_or(value, name, usual);
    return static_cast<std::uint16_t>(
        std::clamp<std::int64_t>(wanted, 1, std::numeric_limits<std::uint16_t>::max()));
  };
  request.terminal.rows = size("rows", request.terminal.rows);
  request.terminal.columns = size("columns", request.terminal.columns);
  return base::done();
}

base::Result<std::optional<RunError>> error_from_json(const json& value) {
  if (value.is_null()) return std::optional<RunError>();
  const auto cause = find_cause(base::string_or(value, "cause"));
  if (!cause) return base::invalid("run: error without a known cause");
  RunError failure;
  failure.name = base::string_or(value, "name");
  failure.message = base::string_or(value, "message");
  failure.traceback = base::string_or(value, "traceback");
  failure.cause = *cause;
  failure.survived = base::string_or(value, "survived");
  failure.lost = base::string_or(value, "lost");
  return std::optional<RunError>(std::move(failure));
}

// As the box made them, or it lies.
base::Result<std::vector<json>> outputs_from_json(json outputs) {
  if (!outputs.is_array()) return base::invalid("run: outputs are no list");
  for (const json& output : outputs) {
    if (checked_output(output) != output) return base::invalid("run: a malformed output");
  }
  return std::move(outputs.get_ref<json::array_t&>());
}

json error_to_json(const RunError& failure) {
  json value = {{"name", failure.name},
                {"message", failure.message},
                {"cause", name_of(failure.cause)},
                {"survived", failure.survived},
                {"lost", failure.lost}};
  if (!failure.traceback.empty()) value["traceback"] = failure.traceback;
  return value;
}

}  // namespace

const char* name_of(Language language) { return name_in(kLanguages, language); }
const char* name_of(RunStatus status) { return name_in(kStatuses, status); }
const char* name_of(Cause cause) { return name_in(kCauses, cause); }
std::optional<Language> find_language(std::string_view name) { return find_in(kLanguages, name); }
std::optional<RunStatus> find_run_status(std::string_view name) { return find_in(kStatuses, name); }
std::optional<Cause> find_cause(std::string_view name) { return find_in(kCauses, name); }

Run::Run() = default;
Run::~Run() = default;
Run::Run(const Run&) = default;
Run& Run::operator=(const Run&) = default;
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;

Run without_results(const Run& run) {
  Run brief;
  brief.run_id = run.run_id;
  brief.language = run.language;
  brief.status = run.status;
  brief.background = run.background;
  brief.queued_at_ms = run.queued_at_ms;
  brief.started_at_ms = run.started_at_ms;
  brief.timeout_seconds = run.timeout_seconds;
  brief.left_ms = run.left_ms;
  brief.is_waking = run.is_waking;
  brief.waits_for = run.waits_for;
  brief.stdout_bytes = run.stdout_bytes;
  brief.stderr_bytes = run.stderr_bytes;
  brief.trace = run.trace;
  return brief;
}

json network_use_to_json(const NetworkUse& use) {
  json refused = json::array();
  for (const NetworkUse::Refusal& one : use.refused) {
    json entry = {{"host", one.host}, {"reason", one.reason}};
    if (!one.missing_rule.empty()) entry["missing_rule"] = one.missing_rule;
    if (one.host_is_allowed) entry["host_is_allowed"] = true;
    refused.push_back(std::move(entry));
  }
  return {{"allowed", use.allowed}, {"refused", std::move(refused)}, {"bytes", use.bytes}};
}

json run_to_json(const Run& run) {
  json value = {{"run_id", run.run_id},
                {"language", name_of(run.language)},
                {"status", name_of(run.status)},
                {"background", run.background},
                {"queued_at_ms", run.queued_at_ms},
                {"started_at_ms", run.started_at_ms},
                {"finished_at_ms", run.finished_at_ms},
                {"duration_ms", run.duration_ms},
                {"stdout_bytes", run.stdout_bytes},
                {"stderr_bytes", run.stderr_bytes},
                {"image_count", run.image_count},
                {"outputs", run.outputs},
                {"files_changed", json::array()}};
  for (const FileChange& change : run.files_changed) {
    json shown = {{"path", change.path}, {"change", change.change}, {"bytes", change.bytes}};
    if (change.possibly_incomplete) shown["possibly_incomplete"] = true;
    value["files_changed"].push_back(std::move(shown));
  }
  if (run.timeout_seconds > 0) value["timeout_seconds"] = run.timeout_seconds;
  if (run.left_ms > 0) value["left_ms"] = run.left_ms;
  if (run.is_waking && !is_terminal(run.status)) value["waking"] = true;
  if (!run.waits_for.empty()) value["waits_for"] = run.waits_for;
  if (run.files_changed_total > static_cast<std::int64_t>(run.files_changed.size())) {
    value["files_changed_total"] = run.files_changed_total;
  }
  if (!run.context.empty()) value["context"] = run.context;
  if (run.execution_count > 0) value["execution_count"] = run.execution_count;
  if (run.exit_code) value["exit_code"] = *run.exit_code;
  if (run.error) value["error"] = error_to_json(*run.error);
  if (!run.network.empty()) value["network"] = network_use_to_json(run.network);
  if (!run.note.empty()) value["note"] = run.note;
  for (const LeftRunning& left : run.left_running) {
    value["left_running"].push_back(left_running_to_json(left));
  }
  if (run.outputs_dropped) value["outputs_dropped"] = true;
  if (run.lacks_network) value["lacks_network"] = true;
  if (!run.short_of.empty()) value["short_of"] = run.short_of;
  if (!run.trace.empty()) value["trace"] = run.trace.to_json();
  return value;
}

namespace {

// Reads a NetworkUse that a box may have written: anything that is no part of one is left out.
NetworkUse network_use_from_json(const json& value) {
  NetworkUse use;
  if (!value.is_object()) return use;
  for (const json& host : value.value("allowed", json::array())) {
    if (host.is_string() && use.allowed.size() < NetworkUse::kListedMax) {
      use.allowed.push_back(host.get<std::string>());
    }
  }
  for (const json& entry : value.value("refused", json::array())) {
    if (!entry.is_object() || use.refused.size() == NetworkUse::kListedMax) continue;
    use.refused.push_back({base::string_or(entry, "host"), base::string_or(entry, "reason"),
                           base::string_or(entry, "missing_rule"),
                           base::boolean_or(entry, "host_is_allowed", false)});
  }
  use.bytes = std::max<std::int64_t>(base::integer_or(value, "bytes", 0), 0);
  return use;
}

// Reads names of limits that a box may have written, each once.
std::vector<std::string> limits_from_json(const json& value) {
  std::vector<std::string> names;
  if (!value.is_array()) return names;
  for (const LimitRow& row : kLimitRows) {
    if (std::find(value.begin(), value.end(), row.name) != value.end()) {
      names.emplace_back(row.name);
    }
  }
  return names;
}

}  // namespace

base::Result<Run> run_from_json(const json& value) {
  const auto language = find_language(base::string_or(value, "language"));
  const auto status = find_run_status(base::string_or(value, "status"));
  if (!language || !status) return base::invalid("run: no known language or status");
  Run run;
  run.run_id = base::string_or(value, "run_id");
  if (!base::is_short_id(run.run_id, "run_")) return base::invalid("run: no run_id");
  run.language = *language;
  run.status = *status;
  run.background = base::boolean_or(value, "background", false);
  run.context = base::string_or(value, "context");
  run.execution_count = base::integer_or(value, "execution_count", 0);
  run.queued_at_ms = base::integer_or(value, "queued_at_ms", 0);
  run.started_at_ms = base::integer_or(value, "started_at_ms", 0);
  run.finished_at_ms = base::integer_or(value, "finished_at_ms", 0);
  run.duration_ms = base::integer_or(value, "duration_ms", 0);
  run.stdout_bytes = std::max<std::int64_t>(base::integer_or(value, "stdout_bytes", 0), 0);
  run.stderr_bytes = std::max<std::int64_t>(base::integer_or(value, "stderr_bytes", 0), 0);
  run.image_count = std::max<std::int64_t>(base::integer_or(value, "image_count", 0), 0);
  run.timeout_seconds = std::max<std::int64_t>(base::integer_or(value, "timeout_seconds", 0), 0);
  run.left_ms = std::max<std::int64_t>(base::integer_or(value, "left_ms", 0), 0);
  run.is_waking = base::boolean_or(value, "waking", false);
  run.waits_for = base::string_or(value, "waits_for");
  if (!run.waits_for.empty() && !base::is_short_id(run.waits_for, "run_")) {
    return base::invalid("run: waits_for is no run_id");
  }
  run.note = base::string_or(value, "note");
  for (const json& entry : value.value("left_running", json::array())) {
    LeftRunning left = left_running_from_json(entry);
    if (left.empty() || run.left_running.size() == Run::kLeftRunningMax) continue;
    run.left_running.push_back(std::move(left));
  }
  run.outputs_dropped = base::boolean_or(value, "outputs_dropped", false);
  run.lacks_network = base::boolean_or(value, "lacks_network", false);
  run.short_of = limits_from_json(value.value("short_of", json()));
  if (const auto code = base::find_integer(value, "exit_code"))
    run.exit_code = static_cast<int>(*code);
  run.outputs = TRY(outputs_from_json(value.value("outputs", json::array())));
  run.error = TRY(error_from_json(value.value("error", json())));
  for (const json& change : value.value("files_changed", json::array())) {
    run.files_changed.push_back({base::string_or(change, "path"), base::string_or(change, "change"),
                                 base::integer_or(change, "bytes", 0),
                                 base::boolean_or(change, "possibly_incomplete", false)});
  }
  const auto listed = static_cast<std::int64_t>(run.files_changed.size());
  run.network = network_use_from_json(value.value("network", json::object()));
  run.files_changed_total =
      std::max(base::integer_or(value, "files_changed_total", listed), listed);
  run.trace = RunTrace::from_json(value.value("trace", json()));
  return run;
}

json request_to_json(const RunRequest& request) {
  json value = {{"run_id", request.run_id},
                {"language", name_of(request.language)},
                {"code", request.code},
                {"timeout_seconds", request.timeout_seconds},
                {"background", request.background},
                {"restart", request.restart},
                {"env", request.env}};
  if (request.most_seconds > 0) value["most_seconds"] = request.most_seconds;
  if (!request.context.empty()) value["context"] = request.context;
  if (!request.directory.empty()) value["directory"] = request.directory;
  if (!request.installs.empty()) value["installs"] = request.installs;
  if (request.restarts_on_wake) value["on_wake"] = "restart";
  if (!request.in_place_of.empty()) value["in_place_of"] = request.in_place_of;
  if (!request.trace.empty()) value["trace"] = request.trace.to_json();
  if (request.input == Input::kPipe) value["input"] = "pipe";
  if (request.input == Input::kTerminal) {
    value["input"] = "terminal";
    value["rows"] = request.terminal.rows;
    value["columns"] = request.terminal.columns;
  }
  return value;
}

base::Result<RunRequest> request_from_json(const json& value) {
  const auto language = find_language(base::string_or(value, "language"));
  if (!language) return base::invalid("run request: no known language");
  RunRequest request;
  request.run_id = base::string_or(value, "run_id");
  if (!base::is_short_id(request.run_id, "run_")) return base::invalid("run request: no run_id");
  request.language = *language;
  request.code = base::string_or(value, "code");
  request.timeout_seconds = base::integer_or(value, "timeout_seconds", 0);
  request.most_seconds = std::max<std::int64_t>(base::integer_or(value, "most_seconds", 0), 0);
  request.background = base::boolean_or(value, "background", false);
  request.restart = base::boolean_or(value, "restart", false);
  request.context = base::string_or(value, "context");
  request.directory = base::string_or(value, "directory");
  request.installs = base::string_or(value, "installs");
  request.restarts_on_wake = base::string_or(value, "on_wake") == "restart";
  request.in_place_of = base::string_or(value, "in_place_of");
  request.trace = RunTrace::from_json(value.value("trace", json()));
  if (request.context.size() > kContextNameMax) {
    return base::invalid("run request: context is too long");
  }
  TRY(read_input(value, request));
  if (request.timeout_seconds < 0 || request.timeout_seconds > kRunSecondsMax) {
    return base::invalid("run request: timeout_seconds out of range");
  }
  if (const auto env = value.find("env"); env != value.end() && env->is_object()) {
    for (const auto& [name, text] : env->items()) {
      if (!text.is_string()) return base::invalid("run request: env values are strings");
      request.env[name] = text.get<std::string>();
    }
  }
  return request;
}

}  // namespace sandbox
