#include "tools/api/response_view.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sessions/share_table.h"

namespace tools::api {

using nlohmann::json;
using sandbox::Cause;
using sandbox::Run;
using sandbox::RunStatus;

namespace {

constexpr std::int64_t kMsPerSecond = 1000;

// Returns one of three words for a run that has ended; one that goes on has none of them yet.
std::string status_of_call(const Run& run) {
  if (run.status == RunStatus::kCompleted) return "completed";
  if (run.status == RunStatus::kTimedOut) return "timed_out";
  return is_terminal(run.status) ? "failed" : "in_progress";
}

json call_result(const Seen& seen) {
  const Run& run = seen.run;
  json result = {{"stdout", seen.output},
                 {"stderr", seen.errors},
                 {"exit_code", run.exit_code ? json(*run.exit_code) : json()},
                 {"duration_ms", run.duration_ms},
                 {"status", status_of_call(run)}};
  add_cut(result, seen, kCutInSnakeCase);
  // An exception ends no process of a session, but the code; what a program would have printed of
  // it is in its place.
  if (run.error) {
    if (!run.exit_code || *run.exit_code == 0) result["exit_code"] = 1;
    const std::string& said = run.error->traceback;
    result["stderr"] =
        seen.errors + (said.empty() ? run.error->name + ": " + run.error->message : said);
  }
  return result;
}

json item_of(const ResponseParts::Call& call, const std::string& container) {
  const Run& run = call.seen.run;
  json results = json::array();
  if (is_terminal(run.status)) results.push_back(call_result(call.seen));
  return {{"type", "sandbox_results"},    {"call_id", call.posted.call_id},
          {"container_id", container},    {"language", name_of(run.language)},
          {"code", call.posted.code},     {"status", status_of_call(run)},
          {"results", std::move(results)}};
}

// Why the whole has failed; null: it has not.
json failure_of(const Run& run) {
  if (run.status == RunStatus::kTimedOut) {
    return {{"code", "timed_out"}, {"type", "timeout"}, {"message", "the code ran out of time"}};
  }
  if (run.error && is_limit(run.error->cause)) {
    return {{"code", name_of(run.error->cause)},
            {"type", "limit_exceeded"},
            {"message", run.error->message}};
  }
  if (run.error && run.error->cause == Cause::kSandboxLost) {
    return {{"code", "sandbox_lost"}, {"type", "server_error"}, {"message", run.error->message}};
  }
  return nullptr;
}

std::string response_status(const std::vector<ResponseParts::Call>& calls, const json& failure) {
  const auto has = [&calls](RunStatus status) {
    return std::any_of(calls.begin(), calls.end(), [status](const ResponseParts::Call& call) {
      return call.seen.run.status == status;
    });
  };
  if (has(RunStatus::kRunning)) return "in_progress";
  if (has(RunStatus::kQueued)) return "queued";
  if (!failure.is_null()) return "failed";
  const bool is_cancelled = !calls.empty() && calls.back().seen.run.status == RunStatus::kCancelled;
  return is_cancelled ? "cancelled" : "completed";
}

}  // namespace

json call_to_json(const PostedCall& call) {
  return {{"call_id", call.call_id}, {"code", call.code}, {"background", call.background}};
}

PostedCall call_from_json(const std::string& text) {
  const auto parsed = base::parse_json(text);
  if (!parsed.ok() || !parsed.value().is_object()) return {};
  return {base::string_or(parsed.value(), "call_id"), base::string_or(parsed.value(), "code"),
          base::boolean_or(parsed.value(), "background", false)};
}

json file_to_json(const sessions::Share& share) {
  return {{"id", share.id},
          {"filename", share.filename},
          {"bytes", share.bytes},
          {"created_at", share.created_at / kMsPerSecond},
          {"object", "file"}};
}

json response_to_json(const ResponseParts& parts) {
  json output = json::array();
  json failure;
  for (const auto& call : parts.calls) {
    output.push_back(item_of(call, parts.session.id));
    failure = failure_of(call.seen.run);  // the newest call's
  }
  for (const sessions::Share& share : parts.shares) {
    json item = file_to_json(share);
    item["type"] = "share_file";
    item["file_id"] = share.id;
    output.push_back(std::move(item));
  }
  const std::string status = response_status(parts.calls, failure);
  json response = {
      {"id", parts.id},
      {"object", "response"},
      {"created_at", parts.session.created_at / kMsPerSecond},
      {"status", status},
      {"background", !parts.calls.empty() && parts.calls.back().posted.background},
      {"output", std::move(output)},
      {"error", status == "failed" ? failure : json()},
      {"usage", {{"tool_calls_details", {{"sandbox", {{"invocation", parts.calls.size()}}}}}}}};
  if (parts.is_cut) response["truncated"] = true;
  return response;
}

}  // namespace tools::api
