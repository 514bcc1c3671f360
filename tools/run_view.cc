#include "sandbox/base/clock.h"
#include "tools/run_view.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "sandbox/shortened_text.h"
#include "tools/output_view.h"
#include "tools/text_window.h"

namespace tools {

using nlohmann::json;
using sandbox::Run;

namespace {

// JSON makes more of control characters and quotes; then less of a stream is shown.
constexpr std::size_t kStreamsPrintedMax = 36'000;
constexpr std::size_t kStreamsRoomLeast = kStreamsPrintedMax / 6;
// The line between head and tail.
constexpr std::size_t kGapBytes = 50;
constexpr std::size_t kNameCharacters = 300;
constexpr std::size_t kMessageCharacters = 2'000;
// For what is said of what was left out, and what is added to a result later.
constexpr std::size_t kSlackCharacters = 2'000;

struct Window {
  std::string text;
  std::int64_t next_offset = 0;
  bool truncated = false;
};

std::string run_file(const Run& run, const char* name) {
  return "/runs/" + run.run_id + "/" + name;
}

const char* file_name(Stream stream) { return stream == Stream::kStdout ? "stdout" : "stderr"; }

// From an offset on, as much as fits.
Window read_on(const RunView& view, Stream stream, std::int64_t total, std::int64_t offset,
               std::size_t room) {
  Window window;
  window.next_offset = std::min(offset, total);
  if (offset >= total) return window;
  const auto bytes = view.read(stream, offset, room);
  if (!bytes.ok()) return window;
  const bool ended = is_terminal(view.run.status) &&
                     offset + static_cast<std::int64_t>(bytes.value().size()) >= total;
  // At the end of an ended stream nothing more of a cut character will come.
  const std::size_t used =
      ended ? bytes.value().size() : whole_characters(bytes.value(), bytes.value().size());
  window.text = to_utf8(std::string_view(bytes.value()).substr(0, used));
  window.next_offset = offset + static_cast<std::int64_t>(used);
  window.truncated = window.next_offset < total && used > 0;
  return window;
}

// Head and tail around a line that says how much is missing.
Window head_and_tail(const RunView& view, Stream stream, std::int64_t total, std::size_t room) {
  Window window;
  window.next_offset = total;
  if (total <= static_cast<std::int64_t>(room)) return read_on(view, stream, total, 0, room);
  const std::size_t half = (room - kGapBytes) / 2;
  const std::int64_t tail_start = total - static_cast<std::int64_t>(half);
  const auto head = view.read(stream, 0, half + 4);
  const auto tail = view.read(stream, tail_start, half);
  if (!head.ok() || !tail.ok()) return window;
  const std::size_t head_size = whole_characters(head.value(), half);
  const std::size_t skip = broken_start(tail.value());
  // The rest of a character may be still to come.
  const std::size_t end = is_terminal(view.run.status)
                              ? tail.value().size()
                              : whole_characters(tail.value(), tail.value().size());
  window.next_offset = tail_start + static_cast<std::int64_t>(end);
  const std::int64_t missing =
      tail_start + static_cast<std::int64_t>(skip) - static_cast<std::int64_t>(head_size);
  window.text = to_utf8(std::string_view(head.value()).substr(0, head_size)) + "\n... " +
                std::to_string(missing) + " bytes left out ...\n" +
                to_utf8(std::string_view(tail.value()).substr(skip, end - skip));
  window.truncated = true;
  return window;
}

json shown_error(const Run& run) {
  const sandbox::RunError& failure = *run.error;
  json value = {{"name", sandbox::shortened(failure.name, kNameCharacters)},
                {"message", sandbox::shortened(failure.message, kMessageCharacters)},
                {"cause", name_of(failure.cause)},
                {"survived", sandbox::shortened(failure.survived, kNameCharacters)},
                {"lost", sandbox::shortened(failure.lost, kNameCharacters)}};
  if (!failure.traceback.empty()) {
    value["traceback"] = sandbox::shortened(failure.traceback, kTracebackCharacters,
                                            "; the whole: " + run_file(run, "record.json"));
  }
  return value;
}

struct Streams {
  Window out;
  Window err;
  std::int64_t out_total = 0;
  std::int64_t err_total = 0;
};

// With what processes that the run has left behind have written since its end.
std::int64_t total_of(const RunView& view, Stream stream, std::int64_t from) {
  const Run& run = view.run;
  const std::int64_t recorded = stream == Stream::kStdout ? run.stdout_bytes : run.stderr_bytes;
  if (!is_terminal(run.status)) return recorded;
  const std::int64_t behind = std::max(recorded, from);
  const auto late = view.read(stream, behind, kInlineOutputBytes);
  const bool none = !late.ok() || late.value().empty();
  return none ? recorded : behind + static_cast<std::int64_t>(late.value().size());
}

Streams windows_within(const RunView& view, std::size_t room) {
  const bool follows = view.stdout_offset || view.stderr_offset;
  const auto left = [](std::int64_t total, std::int64_t offset) {
    return static_cast<std::size_t>(std::max<std::int64_t>(total - offset, 0));
  };
  const std::int64_t out_from = view.stdout_offset.value_or(0);
  const std::int64_t err_from = view.stderr_offset.value_or(0);
  const std::int64_t out_total = total_of(view, Stream::kStdout, out_from);
  const std::int64_t err_total = total_of(view, Stream::kStderr, err_from);
  const Shares shares = share_room(left(out_total, out_from), left(err_total, err_from), room);
  const auto window_of = [&](Stream stream, std::int64_t total, std::int64_t from,
                             std::size_t share) {
    return follows ? read_on(view, stream, total, from, share)
                   : head_and_tail(view, stream, total, share);
  };
  return {window_of(Stream::kStdout, out_total, out_from, shares.first),
          window_of(Stream::kStderr, err_total, err_from, shares.second), out_total, err_total};
}

// The file in which everything is of a stream whose lines are shown as they were last.
std::string told_of_overwriting(const Run& run, Stream stream) {
  return "lines of " + std::string(file_name(stream)) +
         " that were written over after a carriage return are shown as they were last: " +
         run_file(run, file_name(stream)) + " has all";
}

void add_note(const std::string& more, std::string& note) {
  if (!more.empty()) note += (note.empty() ? "" : "; ") + more;
}

// Returns what there is to say of them.
std::string add_streams(const RunView& view, json& value) {
  const Run& run = view.run;
  Streams streams;
  for (std::size_t room = kInlineOutputBytes;;) {
    streams = windows_within(view, room);
    const std::size_t printed = sandbox::printed_characters(streams.out.text) +
                                sandbox::printed_characters(streams.err.text);
    if (printed <= kStreamsPrintedMax || room == kStreamsRoomLeast) break;
    room =
        std::max(std::min(room * kStreamsPrintedMax / printed, room / 10 * 9), kStreamsRoomLeast);
  }
  const auto& [out, err, out_total, err_total] = streams;
  std::string note;
  const auto show = [&](Stream stream, const Window& window) {
    std::string seen = last_states(window.text);
    if (seen != window.text) add_note(told_of_overwriting(run, stream), note);
    value[file_name(stream)] = std::move(seen);
  };
  show(Stream::kStdout, out);
  show(Stream::kStderr, err);
  value["stdout_next_offset"] = out.next_offset;
  value["stderr_next_offset"] = err.next_offset;
  json truncated = json::object();
  const auto tell = [&](Stream stream, const Window& window, std::int64_t total) {
    if (!window.truncated) return;
    truncated[file_name(stream)] = {{"total_bytes", total},
                                    {"file", run_file(run, file_name(stream))}};
  };
  tell(Stream::kStdout, out, out_total);
  tell(Stream::kStderr, err, err_total);
  if (!truncated.empty()) value["truncated"] = truncated;
  return note;
}

std::string note_of(const Run& run) {
  if (is_terminal(run.status) || !run.note.empty()) return run.note;
  return "still " + std::string(name_of(run.status)) + ": call get_run with this run_id" +
         (run.background ? "; cancel_run ends it" : "");
}

// As many of them as fit, and how many there are when those are not all.
json shown_changes(const Run& run, std::size_t room) {
  json changes = json::array();
  for (const sandbox::FileChange& change : run.files_changed) {
    json shown = {{"path", change.path}, {"change", change.change}, {"bytes", change.bytes}};
    const std::size_t size = json_characters(shown) + 1;
    if (size > room) break;
    room -= size;
    changes.push_back(std::move(shown));
  }
  return changes;
}

// Each of the two gets what the other does not need, and a half when both need more.
void add_outputs_and_files(const Run& run, std::size_t room, json& value) {
  const std::string record = run_file(run, "record.json");
  const json changes = shown_changes(run, room);
  const std::size_t wanted = json_characters(changes);
  value["outputs"] = outputs_within(run.outputs, room - std::min(wanted, room / 2), record);
  const std::size_t used = json_characters(value["outputs"]);
  value["files_changed"] = shown_changes(run, room - std::min(used, room));
  const auto listed = static_cast<std::int64_t>(value["files_changed"].size());
  const std::int64_t changed =
      std::max(run.files_changed_total, static_cast<std::int64_t>(run.files_changed.size()));
  if (changed > listed) value["files_changed_total"] = changed;
  if (value["outputs"].size() < run.outputs.size()) {
    value["truncated"]["outputs"] = {{"total", run.outputs.size()}, {"file", record}};
  }
}

std::int64_t duration_so_far_ms(const Run& run) {
  const bool runs = run.started_at_ms > 0 && !sandbox::is_terminal(run.status);
  return runs ? std::max<std::int64_t>(0, base::now_ms() - run.started_at_ms) : run.duration_ms;
}

}  // namespace

json structured_run(const RunView& view) {
  const Run& run = view.run;
  json value = {{"session_id", view.session_id},
                {"run_id", run.run_id},
                {"language", name_of(run.language)},
                {"status", name_of(run.status)},
                {"exit_code", run.exit_code ? json(*run.exit_code) : json()},
                {"duration_ms", duration_so_far_ms(run)},
                {"outputs", json::array()},
                {"files_changed", json::array()}};
  if (run.error) value["error"] = shown_error(run);
  if (!run.network.empty()) value["network"] = sandbox::network_use_to_json(run.network);
  std::string note = note_of(run);
  add_note(add_streams(view, value), note);
  if (!note.empty()) {
    value["note"] = sandbox::shortened(note, kMessageCharacters);
  }
  const std::size_t taken = json_characters(value) + kSlackCharacters;
  add_outputs_and_files(run, kResultCharacters - std::min(taken, kResultCharacters), value);
  return value;
}

}  // namespace tools
