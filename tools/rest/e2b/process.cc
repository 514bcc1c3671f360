// envd's process.Process: commands, in the background of a session.
#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/base64.h"
#include "sandbox/wire/json.h"
#include "tools/arguments.h"
#include "tools/rest/e2b/connect.h"
#include "tools/rest/e2b/e2b.h"
#include "tools/rest/e2b/follow.h"
#include "tools/rest/process.h"

namespace tools::rest::e2b {

using base::Error;
using mcp::http::Route;
using nlohmann::json;
using sessions::RunState;

namespace process {
namespace {

constexpr std::int64_t kRunsLooked = 100;
constexpr int kKilledExitCode = 137;  // as a shell says of SIGKILL

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

json event(const char* name, json value) { return {{"event", {{name, std::move(value)}}}}; }

json end_of(const sandbox::Run& run) {
  const int code = run.exit_code.value_or(kKilledExitCode);
  json end = {
      {"exitCode", code}, {"exited", true}, {"status", "exit status " + std::to_string(code)}};
  if (run.error && !run.exit_code) end["error"] = run.error->message;
  return end;
}

base::Status stream_of(const Services& services, const RpcCall& call, RunState state,
                       const Send& send) {
  if (!send(event("start", {{"pid", pid_of(state.run.run_id)}}))) return base::done();
  bool is_wanted = true;
  state = TRY(follow(services, call.session, std::move(state),
                     {[&](const char* stream, const std::string& bytes) {
                        is_wanted = send(event("data", {{stream, mcp::to_base64(bytes)}}));
                        return is_wanted;
                      },
                      [&] {
                        is_wanted = send(event("keepalive", json::object()));
                        return is_wanted;
                      }},
                     call.gone));
  if (is_wanted && !call.gone.stop_requested()) (void)send(event("end", end_of(state.run)));
  return base::done();
}

// The client's time for the whole call is the command's; 0: none, as of what is longer than a run
// may be bounded to.
std::int64_t seconds_of(const mcp::http::Request& request) {
  const std::string_view text = request.header("Connect-Timeout-Ms");
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error != std::errc() || end != text.data() + text.size() || ms < 1) return 0;
  const std::int64_t seconds = ms / 1000 + (ms % 1000 != 0 ? 1 : 0);
  return seconds <= sandbox::kRunSecondsMax ? seconds : 0;
}

base::Status start(const Services& services, const RpcCall& call, const Send& send) {
  if (call.message.contains("pty")) {
    return base::error(Error::Kind::kUnsupported, "terminals are not served yet");
  }
  const json process = call.message.value("process", json::object());
  sandbox::RunRequest run = TRY(request_of(process));
  run.timeout_seconds = seconds_of(call.request);
  auto state = TRY(services.sessions.start_run(call.session, std::move(run)));
  const std::string posted =
      sandbox::wire::print_json({{"process", process}, {"tag", call.message.value("tag", json())}});
  if (auto kept = services.sessions.keep_call(call.session, state.run.run_id, posted); !kept.ok()) {
    // Nobody would find it again.
    (void)services.sessions.cancel_run(call.session.principal_id, state.run.run_id);
    return kept;
  }
  return stream_of(services, call, std::move(state), send);
}

json kept_of(const Services& services, const sessions::Session& session, const std::string& run) {
  const auto text = services.sessions.call_of(session.id, run);
  if (!text.ok()) return json::object();
  auto parsed = sandbox::wire::parse_json(text.value());
  return parsed.ok() && parsed.value().is_object() ? std::move(parsed).value() : json::object();
}

// The run of {"process": {"pid": 7}} or {"process": {"tag": "x"}}.
base::Result<RunState> find(const Services& services, const RpcCall& call) {
  const json selector = call.message.value("process", json::object());
  if (!selector.is_object()) {
    return base::error(Error::Kind::kInvalid, "process must be an object with pid or tag");
  }
  const json pid = selector.value("pid", json());
  const json tag = selector.value("tag", json());
  // Those that go on first: many may have been since.
  std::vector<std::string> ids;
  const auto now = TRY(services.sessions.state_of(call.session));
  for (const sandbox::Run& run : now.active) ids.push_back(run.run_id);
  for (const auto& run :
       TRY(services.sessions.store().runs_of_session(call.session.id, kRunsLooked))) {
    ids.push_back(run.id);
  }
  for (const std::string& id : ids) {
    const bool is_meant =
        pid.is_number() ? pid == pid_of(id)
                        : tag.is_string() && kept_of(services, call.session, id)["tag"] == tag;
    if (is_meant) {
      return services.sessions.wait_run(call.session.principal_id, id, {}, services.draining);
    }
  }
  return base::error(Error::Kind::kNotFound, "there is no such process");
}

base::Result<json> list(const Services& services, const RpcCall& call) {
  json processes = json::array();
  const auto state = TRY(services.sessions.state_of(call.session));
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
  const RunState state = TRY(find(services, call));
  if (is_terminal(state.run.status)) {
    return base::error(Error::Kind::kNotFound, "this process has ended");
  }
  (void)TRY(services.sessions.cancel_run(call.session.principal_id, state.run.run_id));
  return json::object();
}

base::Result<json> no_input(const RpcCall& /*call*/) {
  return base::error(
      Error::Kind::kUnsupported,
      "a process has no standard input here yet: put what it is to read into a file");
}

}  // namespace
}  // namespace process

std::vector<Route> process_routes(const Services& services) {
  const auto with = [&services](auto function) {
    return [&services, function](const RpcCall& call) { return function(services, call); };
  };
  return {server_stream(services, "/process.Process/Start",
                        [&services](const RpcCall& call, const Send& send) {
                          return process::start(services, call, send);
                        }),
          server_stream(services, "/process.Process/Connect",
                        [&services](const RpcCall& call, const Send& send) -> base::Status {
                          return process::stream_of(services, call,
                                                    TRY(process::find(services, call)), send);
                        }),
          unary(services, "/process.Process/List", with(process::list)),
          unary(services, "/process.Process/SendSignal", with(process::send_signal)),
          unary(services, "/process.Process/SendInput", process::no_input),
          unary(services, "/process.Process/CloseStdin", process::no_input),
          unary(services, "/process.Process/Update", process::no_input)};
}

}  // namespace tools::rest::e2b
