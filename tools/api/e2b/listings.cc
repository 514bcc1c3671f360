// Answers what E2B's command line asks for beside what its SDKs do: the log of a sandbox, the
// templates.
#include <algorithm>
#include <charconv>
#include <string>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/shortened_text.h"
#include "sandbox/environment.h"
#include "sessions/kept_calls.h"
#include "sessions/manager_config.h"
#include "sessions/quotas_in_force.h"
#include "sessions/run_files.h"
#include "sessions/run_state.h"
#include "sessions/run_table.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "tools/api/api.h"
#include "tools/api/e2b/e2b.h"
#include "tools/api/json_answer.h"
#include "tools/api/sandbox_files.h"
#include "tools/api/sandbox_view.h"
#include "tools/text_window.h"

namespace tools::api::e2b {

using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;

namespace {

constexpr std::int64_t kRunsMost = 100;
constexpr std::size_t kShownOfOutput = 2'000;

json line_at(std::int64_t at_ms, const char* level, json fields) {
  fields["level"] = level;
  fields["logger"] = "process";
  return {{"timestamp", base::to_rfc3339(at_ms)}, {"line", base::print_json(fields)}};
}

// The command that a run was asked for with, as words; empty for code.
std::string command_of(const Services& services, const std::string& session_id,
                       const std::string& run_id) {
  const auto kept = services.kept_calls.find(session_id, run_id);
  if (!kept.ok()) return "";
  const auto call = base::parse_json(kept.value());
  if (!call.ok() || !call.value().is_object()) return "";
  const json process = call.value().value("process", json::object());
  if (!process.is_object()) return "";
  std::string command = base::string_or(process, "cmd");
  for (const json& word : process.value("args", json::array())) {
    if (word.is_string()) command += " " + word.get<std::string>();
  }
  return base::shortened(command, kShownOfOutput);
}

// The beginning of what a run has printed; empty where nothing of it is kept.
std::string beginning_of(const Services& services, const sessions::Session& session,
                         const std::string& run_id, const char* stream) {
  const auto bytes = services.run_files.read(session.id, run_id, stream, 0, kShownOfOutput + 4);
  if (!bytes.ok()) return "";
  return to_utf8(bytes.value().substr(0, whole_characters(bytes.value(), kShownOfOutput)));
}

json line_of_begin(const Services& services, const sessions::Session& session,
                   const sessions::Run& head) {
  json begun = {{"message", head.language + " started"}, {"run_id", head.id}};
  const std::string command = command_of(services, session.id, head.id);
  if (!command.empty()) begun["command"] = command;
  return line_at(head.queued_at, "info", std::move(begun));
}

// To look here is not to have read what came of it: that is for who asked for the run.
json line_of_end(const Services& services, const sessions::Session& session,
                 const sessions::Run& head) {
  json ended = {{"message", head.language + " " + head.status}, {"run_id", head.id}};
  const auto state = services.runs.get(session.principal_id, head.id, sessions::Reader::kNobody);
  if (state.ok() && state.value().run.exit_code) ended["exit_code"] = *state.value().run.exit_code;
  for (const char* stream : {"stdout", "stderr"}) {
    std::string text = beginning_of(services, session, head.id, stream);
    if (!text.empty()) ended[stream] = std::move(text);
  }
  return line_at(*head.finished_at, head.status == "completed" ? "info" : "error",
                 std::move(ended));
}

std::int64_t start_in(const Request& request) {
  const auto asked = request.query.find("start");
  std::int64_t start_ms = 0;
  if (asked == request.query.end()) return start_ms;
  (void)std::from_chars(asked->second.data(), asked->second.data() + asked->second.size(),
                        start_ms);
  return start_ms;
}

// Returns the lines of the newest runs since `start`, which is in milliseconds since the epoch.
base::Result<Response> logs(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  const std::int64_t start_ms = start_in(request);
  json lines = json::array();
  for (const auto& head : TRY(services.run_table.of_session(session.id, kRunsMost))) {
    if (head.queued_at >= start_ms) lines.push_back(line_of_begin(services, session, head));
    if (head.finished_at && *head.finished_at >= start_ms) {
      lines.push_back(line_of_end(services, session, head));
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const json& one, const json& other) {
    return one["timestamp"] < other["timestamp"];
  });
  return json_answer(200, {{"logs", std::move(lines)}, {"logEntries", json::array()}});
}

base::Result<Response> templates(const Services& services, const Request& /*request*/) {
  const auto& config = services.config;
  const sandbox::Limits limits = services.quotas.now().default_limits;
  json all = json::array();
  for (const std::string& name : sandbox::template_names(config.environments_directory)) {
    const std::string made =
        base::to_rfc3339(sandbox::named_since_ms(config.environments_directory, name));
    all.push_back({{"templateID", name},
                   {"buildID", name},
                   {"aliases", json::array({name})},
                   {"names", json::array({name})},
                   {"public", false},
                   {"cpuCount", limits.cpus},
                   {"memoryMB", limits.memory_mb},
                   {"diskSizeMB", limits.disk_mb},
                   {"createdAt", made},
                   {"updatedAt", made},
                   {"lastSpawnedAt", json()},
                   {"createdBy", json()},
                   {"spawnCount", 0},
                   {"buildCount", 1},
                   {"buildStatus", "ready"},
                   {"envdVersion", kEnvdVersion}});
  }
  return json_answer(200, all);
}

}  // namespace

std::vector<Route> listing_routes(const Services& services) {
  const With with(services);
  std::vector<Operation> operations{
      {"GET", "/sandboxes/{id}/logs", with(logs), {}, false, Route::Work::kCall},
      {"GET", "/templates", with(templates)}};
  return routes_of(std::move(operations), refused_with_code);
}

}  // namespace tools::api::e2b
