// run_code, get_run, cancel_run.
#include <algorithm>
#include <chrono>
#include <map>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "sessions/manager_config.h"
#include "sessions/run_files.h"
#include "sessions/run_state.h"
#include "sessions/run_table.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/sessions.h"
#include "tools/languages.h"
#include "tools/mcp/call_session.h"
#include "tools/mcp/left_running.h"
#include "tools/mcp/new_run.h"
#include "tools/mcp/run_reply.h"
#include "tools/mcp/tool_kit.h"
#include "tools/text_window.h"

namespace tools {

using base::Error;
using nlohmann::json;
using sessions::RunState;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::int64_t kEnvironmentMax = 200;
constexpr std::int64_t kRunsListed = 20;

json run_schema() {
  return object_schema({{"session_id", "string"},
                        {"run_id", "string"},
                        {"language", "string"},
                        {"status", "string"},
                        {"exit_code", "integer"},
                        {"duration_ms", "integer"},
                        {"stdout", "string"},
                        {"stderr", "string"},
                        {"outputs", "array"},
                        {"error", "object"},
                        {"files_changed", "array"},
                        {"files_changed_total", "integer"},
                        {"truncated", "object"},
                        {"stdout_next_offset", "integer"},
                        {"stderr_next_offset", "integer"},
                        {"network", "object"},
                        {"note", "string"}},
                       {"session_id", "run_id", "language", "status", "stdout", "stderr", "outputs",
                        "files_changed"});
}

// One that a call without session_id would be of needs no name; a stateless one is told with its
// first result.
SessionName session_name_of(const Services& services, const mcp::CallContext& context,
                            const RunState& state) {
  return default_session_id(services, context) == state.session_id ? SessionName::kUnderstood
                                                                   : SessionName::kShown;
}

base::Result<std::int64_t> timeout_for(const Services& services, const Arguments& arguments,
                                       const sessions::Session& session) {
  if (const auto given = arguments.find_integer("timeout_seconds")) {
    return services.runs.check_seconds(session, *given);
  }
  // A background run is there to stay.
  if (arguments.boolean("background", false)) return 0;
  // By the time that the usual limit is over the run has been handed over, and nobody waits.
  const std::int64_t usual = session.limits.run_seconds;
  if (std::chrono::seconds(usual) <= kHandOverAfter) return usual;
  return services.runs.longest_seconds(session);
}

base::Result<sandbox::RunRequest> run_request(const Arguments& arguments) {
  sandbox::RunRequest request;
  request.language = *sandbox::find_language(arguments.text("language", "python"));
  request.code = arguments.text("code");
  request.background = arguments.boolean("background", false);
  request.restart = arguments.boolean("restart", false);
  if (request.background && request.restart) {
    return base::error(Error::Kind::kInvalid,
                       "restart is for the session's interpreter; a background run has a fresh one "
                       "of its own anyway");
  }
  request.restarts_on_wake = arguments.text("on_wake") == "restart";
  if (request.restarts_on_wake && !request.background) {
    return base::error(Error::Kind::kInvalid,
                       "on_wake is for background runs: with background: true it is started anew "
                       "when its session wakes without it");
  }
  request.env = arguments.map("env");
  TRY(check_environment(request.env));
  return request;
}

base::Result<Reply> call_run_code(const Services& services, const Arguments& arguments,
                                  mcp::CallContext& context) {
  sandbox::RunRequest request = TRY(run_request(arguments));
  const CallSession found = TRY(resolve(services, arguments, context));
  request.timeout_seconds = TRY(timeout_for(services, arguments, found.session));
  return reply_of_new_run(services, found, std::move(request), context);
}

mcp::Tool run_code(const Services& services) {
  Definition definition{
      "run_code",
      "Run code",
      "Runs code and returns output, the last value, figures, errors. State stays from call to "
      "call in each language. cwd /workspace. SQL reads files and Python's DataFrames by name: "
      "SELECT "
      "* FROM \"data.csv\"; hutch.sql() in Python, await hutch.sql() in JavaScript.",
      {{.name = "code",
        .required = true,
        .least = 1,
        .most = sandbox::kCodeBytesMax,
        .is_content = true},
       {.name = "language",
        .description = "default python",
        .values = languages_there(services.config)},
       session_argument(),
       {.name = "timeout_seconds",
        .type = Argument::Type::kInteger,
        .description =
            "default 600 (handed over after 50); a timeout interrupts, variables survive",
        .least = 1,
        .most = sandbox::kRunSecondsMax},
       {.name = "background",
        .type = Argument::Type::kBoolean,
        .description = "own process, returns at once; for servers and long work"},
       {.name = "on_wake",
        .description = "background: started anew if the session lost it",
        .values = {"restart"}},
       {.name = "restart",
        .type = Argument::Type::kBoolean,
        .description = "fresh interpreter first; files stay"},
       {.name = "env",
        .type = Argument::Type::kStringMap,
        .description = "environment for this run",
        .most = kEnvironmentMax,
        .is_content = true}},
      run_schema(),
      {.read_only = false, .destructive = true, .idempotent = false},
      mcp::TaskSupport::kOptional};
  return make_tool(services, definition,
                   [services](const Arguments& arguments, mcp::CallContext& context) {
                     return call_run_code(services, arguments, context);
                   });
}

// Returns the schema for that result or a list of runs in its place.
json with_runs(json schema) {
  schema["properties"]["runs"] = {{"type", "array"}};
  schema["anyOf"] = {{{"required", schema["required"]}}, {{"required", {"runs"}}}};
  schema["required"] = {"session_id"};
  return schema;
}

// The rows know of an end once somebody has waited for it.
base::Result<std::vector<sessions::Run>> runs_as_they_are(const Services& services,
                                                          const sessions::Session& session) {
  std::map<std::string, std::string> unfinished;
  for (const auto& run : TRY(services.run_table.of_session(session.id, kRunsListed))) {
    if (run.finished_at) continue;
    const auto state = services.runs.get(session.principal_id, run.id, sessions::Reader::kNobody);
    unfinished[run.id] = state.ok() ? std::string(name_of(state.value().run.status)) : run.status;
  }
  auto runs = TRY(services.run_table.of_session(session.id, kRunsListed));
  for (sessions::Run& run : runs) {
    const auto now = unfinished.find(run.id);
    if (now != unfinished.end() && !run.finished_at) run.status = now->second;
  }
  return runs;
}

json shown_head(const sessions::Run& run) {
  json shown = {{"run_id", run.id},
                {"language", run.language},
                {"status", run.status},
                {"queued_at", base::to_rfc3339(run.queued_at)}};
  if (run.background) shown["background"] = true;
  if (run.finished_at) shown["finished_at"] = base::to_rfc3339(*run.finished_at);
  return shown;
}

// One line for those that follow each other and are alike, with when the newest of them was asked
// for: the day is said where it is not that of the line before.
std::string lines_of_runs(const std::vector<sessions::Run>& runs) {
  constexpr std::size_t kDaySize = std::string_view("2026-01-31").size();
  constexpr std::size_t kMinuteSize = std::string_view("2026-01-31T12:00").size();
  std::string text;
  std::string last_day;
  std::string last_kind;
  for (const sessions::Run& run : runs) {
    const std::string kind =
        " " + run.language + " " + run.status + (run.background ? " (background)" : "") + ":";
    const std::string minute = base::to_rfc3339(run.queued_at).substr(0, kMinuteSize);
    const std::string day = minute.substr(0, kDaySize);
    if (kind != last_kind || day != last_day) {
      if (!text.empty()) text += "\n";
      if (day != last_day) text += day + " ";
      text += minute.substr(kDaySize + 1) + kind;
    }
    text += " " + run.id;
    last_day = day;
    last_kind = kind;
  }
  return text + "\n";
}

base::Result<Reply> last_runs(const Services& services, const CallSession& found) {
  const sessions::Session& session = found.session;
  Reply reply;
  reply.structured = json{{"session_id", session.id}, {"runs", json::array()}};
  const auto runs = TRY(runs_as_they_are(services, session));
  for (const sessions::Run& run : runs) reply.structured["runs"].push_back(shown_head(run));
  const bool destroyed = session.status == sessions::SessionStatus::kDestroyed;
  reply.text = "The last runs" + (found.is_default ? "" : " of " + session.id) +
               ", the newest first; a line has the time of its newest (UTC):\n" +
               lines_of_runs(runs);
  if (runs.empty()) reply.text = "No run in " + session.id + (destroyed ? "" : " yet");
  if (destroyed) add_note(reply, "this session was deleted, and the output of its runs with it");
  return reply;
}

// Who names both has the two in mind as one: an answer about another session's run would mislead.
base::Status check_session_of_run(const Services& services, const Arguments& arguments,
                                  const mcp::CallContext& context) {
  if (!arguments.has("session_id")) return base::done();
  const std::string& principal = context.principal().id;
  const std::string wanted = arguments.text("session_id");
  const auto run = TRY(services.run_table.find(principal, arguments.text("run_id")));
  if (wanted == run.session_id) return base::done();
  if (TRY(services.sessions.find(principal, wanted)).id == run.session_id) return base::done();
  return base::error(base::Error::Kind::kInvalid, run.id + " is a run of session " +
                                                      run.session_id + ", not of " + wanted +
                                                      ": leave session_id out");
}

mcp::Tool get_run(const Services& services) {
  Definition definition{
      "get_run",
      "Get a run",
      "Status and output of a run. Waits up to wait_seconds for its end, or for output beyond the "
      "offsets if any is given. Without run_id: the session's last runs.",
      {{.name = "run_id", .least = 1, .most = 200},
       session_argument(),
       {.name = "wait_seconds", .type = Argument::Type::kInteger, .least = 0, .most = 50},
       {.name = "stdout_offset",
        .type = Argument::Type::kInteger,
        .description = "stdout_next_offset of the last answer",
        .least = 0},
       {.name = "stderr_offset", .type = Argument::Type::kInteger, .least = 0}},
      with_runs(run_schema()),
      {.read_only = true, .destructive = false, .idempotent = true}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        if (!arguments.has("run_id")) {
          const auto found = TRY(resolve(services, arguments, context, NewSession::kUseless));
          Reply reply = TRY(last_runs(services, found));
          if (arguments.integer("wait_seconds", 0) > 0) {
            add_note(reply,
                     "wait_seconds needs run_id: this did not wait; pass that of the run to wait "
                     "for");
          }
          return reply;
        }
        TRY(check_session_of_run(services, arguments, context));
        const auto out = arguments.find_integer("stdout_offset");
        const auto err = arguments.find_integer("stderr_offset");
        sandbox::WaitOptions options;
        options.until_output = out || err;
        options.stdout_offset = out.value_or(0);
        options.stderr_offset = err.value_or(options.until_output ? INT64_MAX : 0);
        const auto left =
            std::chrono::ceil<milliseconds>(context.received_at() + kHandOverAfter - Clock::now());
        options.timeout = std::clamp<milliseconds>(
            left, milliseconds(0), std::chrono::seconds(arguments.integer("wait_seconds", 0)));
        // Who only looks leaves a paused session as it is; who waits would do so in vain.
        options.wakes = options.timeout.count() > 0;
        RunState state =
            TRY(services.runs.wait(context.principal().id, arguments.text("run_id"), options,
                                   context.cancelled(), sessions::Reader::kLater));
        drop_ended(services, context.principal().id, state);
        return reply_of_run(services, state, session_name_of(services, context, state), out, err);
      });
}

mcp::Tool cancel_run(const Services& services) {
  Definition definition{
      "cancel_run",
      "Cancel a run",
      "Ends a run: interrupts it, so that variables survive; kills it if it does not listen.",
      {{.name = "run_id", .required = true, .least = 1, .most = 200}},
      run_schema(),
      {.read_only = false, .destructive = true, .idempotent = true}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        const RunState state =
            TRY(services.runs.cancel(context.principal().id, arguments.text("run_id")));
        return reply_of_run(services, state, session_name_of(services, context, state));
      });
}

}  // namespace

std::vector<mcp::Tool> run_tools(const Services& services) {
  return {run_code(services), get_run(services), cancel_run(services)};
}

}  // namespace tools
