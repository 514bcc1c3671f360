#include "tools/mcp/run_reply.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/clock.h"
#include "base/text.h"
#include "mcp/message.h"
#include "sandbox/output.h"
#include "sessions/run_files.h"
#include "sessions/run_state.h"
#include "tools/advice.h"
#include "tools/mcp/run_view.h"
#include "tools/mcp/terminal_text.h"
#include "tools/text_window.h"

namespace tools {

using nlohmann::json;
using sandbox::RunStatus;
using sessions::RunState;

namespace {

// A result stays below 1 MiB with all that is around it: the official Python client ends a
// connection by which a larger event comes, other clients refuse the result.
constexpr std::size_t kResultBytesMax = 1'040'000;
// More of them, and models get them in a lower resolution.
constexpr std::size_t kImagesMax = 20;
constexpr std::int64_t kPollMs = 2000;

// Adds the pictures to a reply that has everything else: in order, as many as there is room for.
void add_images(Reply& reply, const sessions::RunFiles& files, const RunState& state,
                SessionName session_name) {
  const std::size_t taken = mcp::print(reply.structured).size() + mcp::print(reply.text).size();
  // Four characters of base64 for three bytes.
  std::size_t room = std::min(static_cast<std::size_t>(kImagesBytesMax),
                              (kResultBytesMax - std::min(taken, kResultBytesMax)) / 4 * 3);
  std::size_t pictures = 0;
  for (const json& output : state.run.outputs) {
    const std::string name = sandbox::picture_name(output, state.run.run_id);
    if (name.empty()) continue;
    ++pictures;
    if (reply.more->size() == kImagesMax) continue;
    const auto bytes = files.read(state.session_id, state.run.run_id, name, 0, room + 1);
    if (!bytes.ok() || bytes.value().size() > room) continue;
    room -= bytes.value().size();
    reply.more->push_back(
        {{"type", "image"}, {"data", base::to_base64(bytes.value())}, {"mimeType", "image/png"}});
  }
  const std::size_t left_out = pictures - reply.more->size();
  if (left_out == 0) return;
  std::string note = reply.structured->value("note", "");
  base::append_part(note,
                    std::to_string(left_out) + " of " + std::to_string(pictures) +
                        " images are left out to keep this result small: read_file shows "
                        "them by their image_path",
                    "; ");
  reply.structured["note"] = note;
  reply.text = text_of_run(reply.structured, session_name);
}

}  // namespace

Reply reply_of_run(const Services& services, const RunState& known, SessionName session_name,
                   std::optional<std::int64_t> stdout_offset,
                   std::optional<std::int64_t> stderr_offset) {
  const sessions::RunFiles& files = services.run_files;
  std::optional<RunState> fitted;
  if (has_advice(known.run)) {
    fitted = known;
    fit_advice(services, known.session_id, fitted->run);
  }
  const RunState& state = fitted ? *fitted : known;
  const RunView view{state.session_id, state.run,
                     [&](Stream stream, std::int64_t offset, std::size_t size) {
                       return files.read(state.session_id, state.run.run_id,
                                         stream == Stream::kStdout ? "stdout" : "stderr", offset,
                                         size);
                     },
                     stdout_offset, stderr_offset};
  Reply reply;
  reply.structured = structured_run(view);
  reply.text = text_of_run(reply.structured, session_name);
  if (is_terminal(state.run.status)) add_images(reply, files, state, session_name);
  return reply;
}

namespace {

// Says behind what a run waits; empty where it does not.
std::string told_of_waiting(const sandbox::Run& run) {
  if (run.status != RunStatus::kQueued || run.waits_for.empty()) return "";
  return " behind " + run.waits_for + " (cancel_run ends that one)";
}

// Says how much of its time a run has left; empty where it has no limit, or none counts yet.
std::string told_of_time(const sandbox::Run& run) {
  if (run.left_ms <= 0) return "";
  return " (" + std::to_string(run.left_ms / 1000) + " of " + std::to_string(run.timeout_seconds) +
         " seconds left)";
}

}  // namespace

std::string newest_line(const sessions::RunFiles& files, const sessions::RunState& state) {
  constexpr std::int64_t kLineBytes = 400;
  std::string line;
  const std::int64_t from = std::max<std::int64_t>(state.run.stdout_bytes - kLineBytes, 0);
  const auto tail = files.read(state.session_id, state.run.run_id, "stdout", from, kLineBytes);
  if (tail.ok()) {
    std::string_view text = tail.value();
    while (text.ends_with('\n')) text.remove_suffix(1);
    line = as_last_seen(to_utf8(text.substr(text.find_last_of('\n') + 1))).text;
  }
  if (line.empty()) {
    line =
        state.run.is_waking ? "reading the session's stored variables" : name_of(state.run.status);
    line += told_of_waiting(state.run);
  }
  return line + told_of_time(state.run);
}

mcp::Task task_of_run(const RunState& state) {
  const sandbox::Run& run = state.run;
  mcp::Task task;
  task.id = run.run_id;
  task.status = !is_terminal(run.status)              ? mcp::TaskStatus::kWorking
                : run.status == RunStatus::kCancelled ? mcp::TaskStatus::kCancelled
                                                      : mcp::TaskStatus::kCompleted;
  task.message = name_of(run.status) + told_of_waiting(run) + told_of_time(run) + ", run_id " +
                 run.run_id + " in session " + state.session_id;
  task.created_at = base::to_rfc3339(run.queued_at_ms);
  task.updated_at =
      base::to_rfc3339(std::max({run.queued_at_ms, run.started_at_ms, run.finished_at_ms}));
  task.poll_ms = kPollMs;
  return task;
}

}  // namespace tools
