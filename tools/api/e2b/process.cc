// envd's process.Process: commands, in the background of a session.
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"
#include "sessions/follow.h"
#include "sessions/kept_calls.h"
#include "sessions/run_state.h"
#include "sessions/run_table.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/session_states.h"
#include "sessions/sessions.h"
#include "tools/api/e2b/connect.h"
#include "tools/api/e2b/e2b.h"
#include "tools/api/e2b/reader.h"
#include "tools/program_run.h"
#include "tools/arguments.h"
#include "tools/session_files.h"

namespace tools::api::e2b {

using base::Error;
using mcp::http::Route;
using nlohmann::json;
using sessions::RunState;

namespace {

constexpr std::int64_t kRunsLooked = 100;
constexpr int kTerminalSideMax = 10'000;
constexpr std::chrono::seconds kInputPatience{1};
constexpr int kSignalledExitCode = -1;

// A number that a run is known by there: of its id, so that every server has the same.
std::int64_t pid_of(const std::string& run_id) {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char letter : run_id) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619;
  }
  return (hash >> 1U) + 1;
}

base::Result<sandbox::RunRequest> request_of(const json& process) {
  static const std::vector<Argument> kTable{
      {.name = "cmd", .required = true, .least = 1, .most = 4096},
      {.name = "args", .type = Argument::Type::kStringList, .most = 10'000},
      {.name = "envs", .type = Argument::Type::kStringMap, .most = 200},
      {.name = "cwd", .most = 4096}};
  const Arguments given = TRY(check_arguments(kTable, process));
  std::vector<std::string> words{given.text("cmd")};
  for (const std::string& word : given.list("args")) words.push_back(word);
  sandbox::RunRequest run;
  run.language = sandbox::Language::kBash;
  run.background = true;
  run.code = TRY(command_line(words, given.text("cwd")));
  run.env = given.map("envs");
  TRY(check_environment(run.env));
  return run;
}

// {"size": {"cols": 80, "rows": 24}}
base::Result<sandbox::TerminalSize> size_in(const json& pty) {
  sandbox::TerminalSize size;
  const json wanted = pty.is_object() ? pty.value("size", json()) : json();
  if (!wanted.is_object()) return base::error(Error::Kind::kInvalid, "pty must have a size");
  const auto number = [&wanted](const char* name, std::uint16_t& place) -> base::Status {
    const json value = wanted.value(name, json());
    if (!value.is_number_integer() || value < 1 || value > kTerminalSideMax) {
      return base::error(Error::Kind::kInvalid, std::string("size.") + name +
                                                    " must be a whole number from 1 to " +
                                                    std::to_string(kTerminalSideMax));
    }
    place = value.get<std::uint16_t>();
    return base::done();
  };
  TRY(number("cols", size.columns));
  TRY(number("rows", size.rows));
  return size;
}

// Sets what a process may read: in a terminal, keys; else what is sent, unless nothing is to be.
base::Status give_input(const json& message, sandbox::RunRequest& run) {
  if (const json pty = message.value("pty", json()); !pty.is_null()) {
    run.input = sandbox::Input::kTerminal;
    run.terminal = TRY(size_in(pty));
  } else if (message.value("stdin", json(true)) != json(false)) {
    run.input = sandbox::Input::kPipe;
  }
  return base::done();
}

json event(const char* name, json value) { return {{"event", {{name, std::move(value)}}}}; }

// Says it as Go does of a process, which is how their SDKs know it: whoever stops one has it killed
// there, whatever it made of the interrupt here.
json end_of(const sandbox::Run& run) {
  using sandbox::Cause;
  const bool by_itself = !run.error || run.error->cause == Cause::kException ||
                         run.error->cause == Cause::kExit || run.error->cause == Cause::kSignal;
  if (by_itself && run.exit_code) {
    const std::string status = "exit status " + std::to_string(*run.exit_code);
    json end = {{"exitCode", *run.exit_code}, {"exited", true}, {"status", status}};
    if (*run.exit_code != 0) end["error"] = status;
    return end;
  }
  const bool is_told = run.error && run.error->cause != Cause::kCancelled;
  return {{"exitCode", kSignalledExitCode},
          {"exited", false},
          {"status", "signal: killed"},
          {"error", is_told ? run.error->message : "signal: killed"}};
}

enum class WhenPaused { kStay, kWake };

base::Status stream_of(const Services& services, const RpcCall& call, RunState state,
                       bool is_terminal, WhenPaused when_paused, const Send& send) {
  if (!send(event("start", {{"pid", pid_of(state.run.run_id)}}))) return base::done();
  sessions::FollowOptions options{.gone = call.gone, .draining = services.draining};
  options.look_every = kSilentFor;
  options.wakes = when_paused == WhenPaused::kWake;
  options.printed = [&](const char* stream, const std::string& bytes) {
    return send(event("data", {{is_terminal ? "pty" : stream, base::to_base64(bytes)}}));
  };
  options.looked = [&](const RunState&) { return send(event("keepalive", json::object())); };
  const std::string id = state.run.run_id;
  const auto followed = TRY(sessions::follow(services.runs, services.run_files,
                                             call.session.principal_id, std::move(state), options));
  using End = sessions::Followed::End;
  if (followed.end == End::kDraining) return is_stopping(id);
  if (followed.end != End::kEnded || call.gone.stop_requested()) return base::done();
  const auto session = services.sessions.find(call.session.principal_id, call.session.id);
  if (!session.ok() || session.value().status == sessions::SessionStatus::kDestroyed) {
    return base::error(Error::Kind::kUnavailable, "the sandbox ended before this process did");
  }
  const sandbox::Run& run = followed.state.run;
  if (run.status == sandbox::RunStatus::kTimedOut) {
    return Error{Error::Kind::kUnavailable, ETIMEDOUT, "the process was ended at its timeout"};
  }
  (void)send(event("end", end_of(run)));
  return base::done();
}

// The client's time for the whole call is the command's; 0: none, as of what is longer than a run
// may be bounded to.
std::int64_t seconds_of(const mcp::http::Request& request) {
  const auto ms = base::number_of<std::int64_t>(request.header("Connect-Timeout-Ms")).value_or(0);
  if (ms < 1) return 0;
  const std::int64_t seconds = ms / 1000 + (ms % 1000 != 0 ? 1 : 0);
  return seconds <= sandbox::kRunSecondsMax ? seconds : 0;
}

base::Status start_process(const Services& services, const RpcCall& call, const Send& send) {
  const json process = call.message.value("process", json::object());
  sandbox::RunRequest run = TRY(request_of(process));
  run.timeout_seconds = seconds_of(call.request);
  TRY(give_input(call.message, run));
  run.trace.mark(sandbox::Hop::kCalled, call.request.begun);
  const bool is_terminal = run.input == sandbox::Input::kTerminal;
  auto state = TRY(services.runs.start(call.session, std::move(run)));
  const std::string posted = base::print_json({{"process", process},
                                               {"tag", call.message.value("tag", json())},
                                               {"is_terminal", is_terminal}});
  if (auto kept = services.kept_calls.keep(call.session.id, state.run.run_id, posted); !kept.ok()) {
    // Nobody would find it again.
    (void)services.runs.cancel(call.session.principal_id, state.run.run_id);
    return kept;
  }
  return stream_of(services, call, std::move(state), is_terminal, WhenPaused::kStay, send);
}

json kept_of(const Services& services, const sessions::Session& session, const std::string& run) {
  const auto text = services.kept_calls.find(session.id, run);
  if (!text.ok()) return json::object();
  auto parsed = base::parse_json(text.value());
  return parsed.ok() && parsed.value().is_object() ? std::move(parsed).value() : json::object();
}

// The run of {"process": {"pid": 7}} or {"process": {"tag": "x"}}.
base::Result<RunState> find(const Services& services, const RpcCall& call, const json& message) {
  const json selector = message.value("process", json::object());
  if (!selector.is_object()) {
    return base::error(Error::Kind::kInvalid, "process must be an object with pid or tag");
  }
  const json pid = selector.value("pid", json());
  const json tag = selector.value("tag", json());
  // Runs that go on come first: many others may have been since.
  std::vector<std::string> ids;
  const auto now = TRY(services.states.state_of(call.session));
  for (const sandbox::Run& run : now.active) ids.push_back(run.run_id);
  for (const auto& run : TRY(services.run_table.of_session(call.session.id, kRunsLooked))) {
    ids.push_back(run.id);
  }
  for (const std::string& id : ids) {
    const bool is_meant =
        pid.is_number() ? pid == pid_of(id)
                        : tag.is_string() && kept_of(services, call.session, id)["tag"] == tag;
    if (is_meant) {
      return services.runs.get(call.session.principal_id, id);
    }
  }
  return base::error(Error::Kind::kNotFound, "there is no such process");
}

base::Result<json> list_processes(const Services& services, const RpcCall& call) {
  json processes = json::array();
  const auto state = TRY(services.states.state_of(call.session));
  for (const sandbox::Run& run : state.active) {
    const json kept = kept_of(services, call.session, run.run_id);
    if (!kept.contains("process")) continue;
    json shown = {{"pid", pid_of(run.run_id)}, {"config", kept["process"]}};
    if (kept.value("tag", json()).is_string()) shown["tag"] = kept["tag"];
    processes.push_back(std::move(shown));
  }
  return json{{"processes", std::move(processes)}};
}

base::Result<json> send_signal(const Services& services, const RpcCall& call) {
  const RunState state = TRY(find(services, call, call.message));
  if (is_terminal(state.run.status)) {
    return base::error(Error::Kind::kNotFound, "this process has ended");
  }
  (void)TRY(services.runs.cancel(call.session.principal_id, state.run.run_id));
  return json::object();
}

base::Status connect_process(const Services& services, const RpcCall& call, const Send& send) {
  RunState state = TRY(find(services, call, call.message));
  const json kept = kept_of(services, call.session, state.run.run_id);
  return stream_of(services, call, std::move(state),
                   kept.value("is_terminal", json()) == json(true), WhenPaused::kWake, send);
}

// {"stdin": "<base64>"} or {"pty": ..}: what it is called, its process knows.
base::Status write_into(const sandbox::RunInput& to, const json& input) {
  for (const char* name : {"stdin", "pty"}) {
    const json bytes = input.is_object() ? input.value(name, json()) : json();
    if (!bytes.is_string()) continue;
    const auto decoded = base::from_base64(bytes.get_ref<const std::string&>());
    if (!decoded) return base::error(Error::Kind::kInvalid, std::string(name) + " is not base64");
    return sandbox::write_input(to, *decoded, kInputPatience);
  }
  return base::error(Error::Kind::kInvalid, "input must have stdin or pty");
}

base::Result<sandbox::RunInput> input_of(const Services& services, const RpcCall& call,
                                         const json& message) {
  const RunState state = TRY(find(services, call, message));
  return services.runs.input_of(call.session.principal_id, state.run.run_id);
}

base::Result<json> send_input(const Services& services, const RpcCall& call) {
  const sandbox::RunInput to = TRY(input_of(services, call, call.message));
  TRY(write_into(to, call.message.value("input", json())));
  return json::object();
}

// Sends the messages' data to one process, which the first message names.
base::Result<json> stream_input(const Services& services, const RpcCall& call,
                                const std::vector<json>& messages) {
  std::optional<sandbox::RunInput> to;
  for (const json& message : messages) {
    if (const json start = message.value("start", json()); start.is_object()) {
      to = TRY(input_of(services, call, start));
    }
    const json data = message.value("data", json());
    if (!data.is_object()) continue;
    if (!to) return base::error(Error::Kind::kInvalid, "data comes before its start");
    TRY(write_into(*to, data.value("input", json())));
  }
  return json::object();
}

base::Result<json> close_stdin(const Services& services, const RpcCall& call) {
  const RunState state = TRY(find(services, call, call.message));
  TRY(services.runs.end_input(call.session.principal_id, state.run.run_id));
  return json::object();
}

base::Result<json> update(const Services& services, const RpcCall& call) {
  const auto size = TRY(size_in(call.message.value("pty", json())));
  const sandbox::RunInput terminal = TRY(input_of(services, call, call.message));
  if (!terminal.is_terminal) return base::error(Error::Kind::kInvalid, "this process has no pty");
  TRY(sandbox::set_terminal_size(terminal.fd.get(), size));
  return json::object();
}

}  // namespace

std::vector<Route> process_routes(const Services& services) {
  const auto with = [&services](auto function) {
    return [&services, function](const RpcCall& call) { return function(services, call); };
  };
  return {server_stream(services, "/process.Process/Start",
                        [&services](const RpcCall& call, const Send& send) {
                          return start_process(services, call, send);
                        }),
          server_stream(services, "/process.Process/Connect",
                        [&services](const RpcCall& call, const Send& send) {
                          return connect_process(services, call, send);
                        }),
          unary(services, "/process.Process/List", with(list_processes)),
          unary(services, "/process.Process/SendSignal", with(send_signal)),
          unary(services, "/process.Process/SendInput", with(send_input)),
          client_stream(services, "/process.Process/StreamInput",
                        [&services](const RpcCall& call, const std::vector<json>& messages) {
                          return stream_input(services, call, messages);
                        }),
          unary(services, "/process.Process/CloseStdin", with(close_stdin)),
          unary(services, "/process.Process/Update", with(update))};
}

}  // namespace tools::api::e2b
