#include "base/clock.h"
#include "tools/mcp/run_view.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/session_parts.h"
#include "tools/mcp/output_view.h"
#include "tools/mcp/short_forms.h"
#include "tools/mcp/terminal_text.h"
#include "tools/session_files.h"
#include "tools/text_window.h"

namespace tools {

using nlohmann::json;
using sandbox::Run;

namespace {

// JSON makes more of control characters and quotes; then less of a stream is shown.
constexpr std::size_t kStreamsPrintedMax = 36'000;
constexpr std::size_t kStreamsRoomLeast = kStreamsPrintedMax / 6;
// Bytes of a stream that is read whole; of a longer one only the two ends are.
constexpr std::int64_t kLookedThroughBytes = 256 * 1024;
constexpr std::size_t kNameCharacters = 300;
constexpr std::size_t kMessageCharacters = 2'000;
// For what is said of what was left out, and what is added to a result later.
constexpr std::size_t kSlackCharacters = 2'000;

struct Window {
  std::string text;
  std::int64_t next_offset = 0;
  bool truncated = false;
  bool was_written_over = false;
};

const char* file_name(Stream stream) { return stream == Stream::kStdout ? "stdout" : "stderr"; }

bool is_at_end(const RunView& view, std::int64_t end, std::int64_t total) {
  return is_terminal(view.run.status) && end >= total;
}

// How much of `bytes` is not to be waited for: the rest of a character, or of what steers a
// terminal, comes no more at the end of an ended stream.
std::size_t whole(const RunView& view, std::string_view bytes, std::int64_t from,
                  std::int64_t total) {
  if (is_at_end(view, from + static_cast<std::int64_t>(bytes.size()), total)) return bytes.size();
  return whole_codes(bytes.substr(0, whole_characters(bytes, bytes.size())));
}

// From an offset on, as much as fits.
Window read_on(const RunView& view, Stream stream, std::int64_t total, std::int64_t offset,
               std::size_t room) {
  Window window;
  window.next_offset = std::min(offset, total);
  if (offset >= total) return window;
  const auto bytes = view.read(stream, offset, room);
  if (!bytes.ok()) return window;
  const std::size_t used = whole(view, bytes.value(), offset, total);
  window.text = without_codes(to_utf8(std::string_view(bytes.value()).substr(0, used)));
  window.next_offset = offset + static_cast<std::int64_t>(used);
  window.truncated = window.next_offset < total && used > 0;
  return window;
}

std::string as_read(std::string_view bytes, Window& window) {
  TerminalText seen = as_last_seen(to_utf8(bytes));
  window.was_written_over = window.was_written_over || seen.was_written_over;
  return with_repeats_counted(seen.text);
}

// Bytes of the first `count` characters; a byte that is of none counts as one.
std::size_t bytes_of_characters(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; count > 0 && at < text.size(); --count) {
    at += std::max<std::size_t>(character_size(text.substr(at)), 1);
  }
  return at;
}

std::size_t characters_in(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    at += std::max<std::size_t>(character_size(text.substr(at)), 1);
  }
  return count;
}

// Bytes before the last `count` characters.
std::size_t bytes_before_last(std::string_view text, std::size_t count) {
  const std::size_t characters = characters_in(text);
  return bytes_of_characters(text, characters - std::min(characters, count));
}

// How many characters are shown of the beginning and of the end of what is too long for the room.
struct Ends {
  explicit Ends(std::size_t room)
      : first(head_share(room - kLeftOutLineBytes)), last(room - kLeftOutLineBytes - first) {}
  std::size_t first;
  std::size_t last;
};

// A line that is cut may look like a whole one, and a number in it like another number: lines of at
// most so many bytes are shown whole or not at all.
constexpr std::size_t kUncutLineBytes = 200;

// Returns where a head of `size` bytes ends so that its last line is whole. More follows it, in
// `text` or not.
std::size_t to_end_of_line(std::string_view text, std::size_t size) {
  if (size == 0 || (size < text.size() && text[size] == '\n')) return size;
  const std::size_t line_end = text.rfind('\n', size - 1);
  return line_end != text.npos && size - line_end <= kUncutLineBytes ? line_end : size;
}

// Returns where a tail that begins at `start` begins so that its first line is whole. More is
// before it, in `text` or not.
std::size_t to_begin_of_line(std::string_view text, std::size_t start) {
  if (start > 0 && text[start - 1] == '\n') return start;
  const std::size_t line_end = text.find('\n', start);
  const bool is_near = line_end != text.npos && line_end - start < kUncutLineBytes;
  return is_near && line_end + 1 < text.size() ? line_end + 1 : start;
}

// Head and tail of a text that has more characters than there is room for.
std::string ends_of_text(std::string_view text, std::size_t room) {
  const Ends ends(room);
  const std::size_t head = to_end_of_line(text, bytes_of_characters(text, ends.first));
  const std::size_t tail = to_begin_of_line(text, bytes_before_last(text, ends.last));
  return std::string(text.substr(0, head)) + left_out_line(tail - head) +
         std::string(text.substr(tail));
}

// Returns a stream that is short enough to be read whole: its lines as they are seen, cut to head
// and tail where they do not fit.
Window all_or_ends(const RunView& view, Stream stream, std::int64_t total, std::size_t room) {
  Window window;
  window.next_offset = total;
  if (total == 0) return window;
  const auto bytes = view.read(stream, 0, static_cast<std::size_t>(total));
  if (!bytes.ok()) return window;
  const std::size_t used = whole(view, bytes.value(), 0, total);
  window.next_offset = static_cast<std::int64_t>(used);
  window.text = as_read(std::string_view(bytes.value()).substr(0, used), window);
  window.truncated = characters_in(window.text) > room;
  if (window.truncated) window.text = ends_of_text(window.text, room);
  return window;
}

// Head and tail of what was written, around a line that says how much is missing.
Window ends_of_much(const RunView& view, Stream stream, std::int64_t total, std::size_t room) {
  constexpr std::size_t kCharacterBytesMax = 4;
  Window window;
  window.next_offset = total;
  const Ends ends(room);
  const std::size_t read_last = kCharacterBytesMax * ends.last;
  const std::int64_t tail_start = total - static_cast<std::int64_t>(read_last);
  const auto head = view.read(stream, 0, kCharacterBytesMax * ends.first);
  const auto tail = view.read(stream, tail_start, read_last);
  if (!head.ok() || !tail.ok()) return window;
  const std::string_view beginning = head.value();
  const std::size_t head_size =
      whole_codes(beginning.substr(0, bytes_of_characters(beginning, ends.first)));
  const std::string_view end =
      std::string_view(tail.value()).substr(0, whole(view, tail.value(), tail_start, total));
  const std::size_t skip = std::max(broken_start(end), bytes_before_last(end, ends.last));
  window.next_offset = tail_start + static_cast<std::int64_t>(end.size());
  // A few bytes that move the cursor can ask for very many blanks.
  const std::string first = as_read(beginning.substr(0, head_size), window);
  const std::string last = as_read(end.substr(skip), window);
  const std::size_t first_size = to_end_of_line(first, bytes_of_characters(first, ends.first));
  const std::size_t last_start = to_begin_of_line(last, bytes_before_last(last, ends.last));
  const std::size_t missing = static_cast<std::size_t>(tail_start) + skip - head_size +
                              (first.size() - first_size) + last_start;
  window.text = first.substr(0, first_size) + left_out_line(missing) + last.substr(last_start);
  window.truncated = true;
  return window;
}

Window from_beginning(const RunView& view, Stream stream, std::int64_t total, std::size_t room) {
  if (total <= kLookedThroughBytes) return all_or_ends(view, stream, total, room);
  return ends_of_much(view, stream, total, room);
}

// A text is shown alone, in a stream that has codes elsewhere, so that lines lose the blanks at
// their ends, or in a stream that is read on from an offset.
using Shown = std::string (*)(const std::string& text);

std::string shown_alone(const std::string& text) {
  return with_repeats_counted(as_last_seen(text).text);
}

std::string shown_among_codes(const std::string& text) { return shown_alone("\x1b[m" + text); }

std::string shown_in_a_part(const std::string& text) { return without_codes(text); }

constexpr Shown kWaysOfShowing[] = {shown_alone, shown_among_codes, shown_in_a_part};

// Where a traceback stands in standard error as that is shown.
struct Place {
  std::size_t at;
  std::size_t size;
  Shown shown;
};

std::optional<Place> find_traceback(std::string_view stderr_text, const std::string& traceback) {
  for (const Shown shown : kWaysOfShowing) {
    const std::string text = shown(traceback);
    const std::size_t at = text.empty() ? stderr_text.npos : stderr_text.rfind(text);
    if (at != stderr_text.npos) return Place{at, text.size(), shown};
  }
  return std::nullopt;
}

json shown_error(const Run& run, const std::string& stderr_text) {
  const sandbox::RunError& failure = *run.error;
  json value = {{"name", base::shortened(shown_alone(failure.name), kNameCharacters)},
                {"cause", name_of(failure.cause)}};
  const auto add = [&value](const char* key, const std::string& text, std::size_t most) {
    if (!text.empty()) value[key] = base::shortened(shown_alone(text), most);
  };
  add("message", failure.message, kMessageCharacters);
  add("survived", failure.survived, kNameCharacters);
  add("lost", failure.lost, kNameCharacters);
  // Once: most often standard error ends with it.
  if (!failure.traceback.empty() && !find_traceback(stderr_text, failure.traceback)) {
    const std::string whole = sandbox::run_file(run.run_id, "record.json");
    value["traceback"] = base::shortened(shown_alone(failure.traceback), kTracebackCharacters,
                                         "; the whole: " + whole);
  }
  return value;
}

// Shorter where it stands in the stream, which its file has as it was written.
void shorten_traceback(const Run& run, std::string& stderr_text) {
  const sandbox::RunError& failure = *run.error;
  const bool is_of_python = run.language == sandbox::Language::kPython;
  if (!is_of_python || failure.cause != sandbox::Cause::kException || failure.traceback.empty()) {
    return;
  }
  const auto place = find_traceback(stderr_text, failure.traceback);
  if (!place) return;
  const std::string said = failure.name + (failure.message.empty() ? "" : ": " + failure.message);
  stderr_text.replace(place->at, place->size,
                      short_traceback(place->shown(failure.traceback), place->shown(said)));
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
  const auto late = view.read(stream, behind, kFollowedOutputBytes);
  const bool none = !late.ok() || late.value().empty();
  return none ? recorded : behind + static_cast<std::int64_t>(late.value().size());
}

// Shares by what is read on as it was written, of which pieces join.
void read_both_on(const RunView& view, std::size_t room, Streams& streams) {
  const auto left = [](std::int64_t total, std::int64_t offset) {
    return static_cast<std::size_t>(std::max<std::int64_t>(total - offset, 0));
  };
  const std::int64_t out_from = view.stdout_offset.value_or(0);
  const std::int64_t err_from = view.stderr_offset.value_or(0);
  const Shares shares =
      share_room(left(streams.out_total, out_from), left(streams.err_total, err_from), room);
  streams.out = read_on(view, Stream::kStdout, streams.out_total, out_from, shares.first);
  streams.err = read_on(view, Stream::kStderr, streams.err_total, err_from, shares.second);
}

// Shares by what is seen, not by what was written: a progress bar of many states is one line.
void show_both(const RunView& view, std::size_t room, Streams& streams) {
  streams.out = from_beginning(view, Stream::kStdout, streams.out_total, room);
  streams.err = from_beginning(view, Stream::kStderr, streams.err_total, room);
  const std::size_t out_size = characters_in(streams.out.text);
  const std::size_t err_size = characters_in(streams.err.text);
  const Shares shares = share_room(out_size, err_size, room);
  if (out_size > shares.first) {
    streams.out = from_beginning(view, Stream::kStdout, streams.out_total, shares.first);
  }
  if (err_size > shares.second) {
    streams.err = from_beginning(view, Stream::kStderr, streams.err_total, shares.second);
  }
}

Streams windows_within(const RunView& view, std::size_t room) {
  Streams streams;
  streams.out_total = total_of(view, Stream::kStdout, view.stdout_offset.value_or(0));
  streams.err_total = total_of(view, Stream::kStderr, view.stderr_offset.value_or(0));
  const bool follows = view.stdout_offset || view.stderr_offset;
  if (follows) {
    read_both_on(view, room, streams);
  } else {
    show_both(view, room, streams);
  }
  return streams;
}

// The file in which everything is of a stream whose lines are shown as they were last.
std::string told_of_overwriting(const Run& run, Stream stream) {
  return "lines of " + std::string(file_name(stream)) +
         " that were written over are shown as they were last: " +
         sandbox::run_file(run.run_id, file_name(stream)) + " has all";
}

void add_note(const std::string& more, std::string& note) {
  if (!more.empty()) base::append_part(note, more, "; ");
}

// Returns what there is to say of them.
std::string add_streams(const RunView& view, json& value) {
  const Run& run = view.run;
  Streams streams;
  const bool follows = view.stdout_offset || view.stderr_offset;
  for (std::size_t room = follows ? kFollowedOutputBytes : kInlineOutputCharacters;;) {
    streams = windows_within(view, room);
    const std::size_t printed =
        base::printed_characters(streams.out.text) + base::printed_characters(streams.err.text);
    if (printed <= kStreamsPrintedMax || room == kStreamsRoomLeast) break;
    room =
        std::max(std::min(room * kStreamsPrintedMax / printed, room / 10 * 9), kStreamsRoomLeast);
  }
  const auto& [out, err, out_total, err_total] = streams;
  std::string note;
  const auto show = [&](Stream stream, const Window& window) {
    if (window.was_written_over) add_note(told_of_overwriting(run, stream), note);
    value[file_name(stream)] = window.text;
  };
  show(Stream::kStdout, out);
  show(Stream::kStderr, err);
  // Where all is shown of what has ended, nobody reads on.
  if (follows || !is_terminal(run.status) || out.truncated || err.truncated) {
    value["stdout_next_offset"] = out.next_offset;
    value["stderr_next_offset"] = err.next_offset;
  }
  json truncated = json::object();
  const auto tell = [&](Stream stream, const Window& window, std::int64_t total) {
    if (!window.truncated) return;
    truncated[file_name(stream)] = {{"total_bytes", total},
                                    {"file", sandbox::run_file(run.run_id, file_name(stream))}};
  };
  tell(Stream::kStdout, out, out_total);
  tell(Stream::kStderr, err, err_total);
  if (!truncated.empty()) value["truncated"] = truncated;
  return note;
}

// With the time it has, for whoever comes back to it.
std::string told_of_going_on(const Run& run) {
  const std::string follow = ": call get_run with this run_id";
  if (run.status == sandbox::RunStatus::kQueued) {
    const std::string behind =
        run.waits_for.empty() ? "" : " behind " + run.waits_for + " (cancel_run ends that one)";
    return "still queued" + behind + follow + "; cancel_run takes this one back";
  }
  if (run.is_waking) {
    return "the session's stored variables are being read, then it runs" + follow +
           "; cancel_run ends it";
  }
  if (run.timeout_seconds == 0) return "still running" + follow + "; cancel_run ends it";
  return "still running, for " + std::to_string(run.left_ms / 1000) + " seconds more at most (" +
         std::to_string(run.timeout_seconds) + " in all)" + follow + "; cancel_run ends it";
}

std::string note_of(const Run& run) {
  std::string note = run.note;
  for (const sandbox::LeftRunning& left : run.left_running) add_note(in_words(left), note);
  if (!is_terminal(run.status)) add_note(told_of_going_on(run), note);
  return note;
}

constexpr std::string_view kToolsFolders[] = {".git",
                                              "node_modules",
                                              "__pycache__",
                                              ".venv",
                                              "venv",
                                              "site-packages",
                                              ".pytest_cache",
                                              ".mypy_cache",
                                              ".ruff_cache",
                                              ".tox",
                                              ".ipynb_checkpoints",
                                              ".pnpm-store",
                                              ".yarn",
                                              ".next",
                                              ".gradle",
                                              ".cargo",
                                              "CMakeFiles"};

// The folder of a tool's own files in which a path lies, or nothing.
std::string tools_folder_of(const std::string& path) {
  std::size_t end = std::string::npos;
  for (const std::string_view folder : kToolsFolders) {
    const std::size_t at = path.find("/" + std::string(folder) + "/");
    if (at != std::string::npos) end = std::min(end, at + folder.size() + 1);
  }
  return end == std::string::npos ? "" : path.substr(0, end);
}

json shown_change(const sandbox::FileChange& change) {
  json shown = {{"path", change.path}, {"change", change.change}, {"bytes", change.bytes}};
  if (change.possibly_incomplete) shown["possibly_incomplete"] = true;
  return shown;
}

// Returns the changed files, with one entry for each folder that a tool keeps for itself: its many
// files say less than the few that the code has made.
std::vector<json> entries_of_changes(const Run& run) {
  std::vector<json> entries;
  std::map<std::string, std::size_t> folders;
  for (const sandbox::FileChange& change : run.files_changed) {
    const std::string folder = tools_folder_of(change.path);
    if (folder.empty()) {
      entries.push_back(shown_change(change));
      continue;
    }
    const auto [known, is_new] = folders.emplace(folder, entries.size());
    if (is_new) {
      entries.push_back({{"path", folder}, {"change", "modified"}, {"bytes", 0}, {"files", 0}});
    }
    json& entry = entries[known->second];
    entry["bytes"] = entry["bytes"].get<std::int64_t>() + change.bytes;
    entry["files"] = entry["files"].get<std::int64_t>() + 1;
  }
  return entries;
}

// As many of them as fit.
json shown_changes(const std::vector<json>& entries, std::size_t room) {
  json changes = json::array();
  for (const json& entry : entries) {
    const std::size_t size = json_characters(entry) + 1;
    if (size > room) break;
    room -= size;
    changes.push_back(entry);
  }
  return changes;
}

std::int64_t files_in(const json& changes) {
  std::int64_t count = 0;
  for (const json& change : changes) count += change.value("files", std::int64_t{1});
  return count;
}

// Each of the two gets what the other does not need, and a half when both need more.
void add_outputs_and_files(const Run& run, std::size_t room, json& value) {
  const std::string record = sandbox::run_file(run.run_id, "record.json");
  const std::vector<json> entries = entries_of_changes(run);
  const json changes = shown_changes(entries, room);
  const std::size_t wanted = json_characters(changes);
  value["outputs"] = outputs_within(run.outputs, room - std::min(wanted, room / 2),
                                    {record, is_terminal(run.status)});
  const std::size_t used = json_characters(value["outputs"]);
  value["files_changed"] = shown_changes(entries, room - std::min(used, room));
  const std::int64_t listed = files_in(value["files_changed"]);
  const std::int64_t changed =
      std::max(run.files_changed_total, static_cast<std::int64_t>(run.files_changed.size()));
  if (changed > listed) value["files_changed_total"] = changed;
  if (value["outputs"].size() < run.outputs.size()) {
    value["truncated"]["outputs"] = {{"total", run.outputs.size()}, {"file", record}};
  }
}

json shown_network(const sandbox::NetworkUse& use) {
  json shown = sandbox::network_use_to_json(use);
  for (json& refusal : shown["refused"]) {
    refusal.erase("missing_rule");
    refusal.erase("host_is_allowed");
  }
  for (const char* key : {"allowed", "refused"}) {
    if (shown[key].empty()) shown.erase(key);
  }
  if (use.bytes == 0 && use.allowed.empty()) shown.erase("bytes");
  return shown;
}

std::int64_t duration_so_far_ms(const Run& run) {
  const bool runs = run.started_at_ms > 0 && !sandbox::is_terminal(run.status);
  return runs ? std::max<std::int64_t>(0, base::now_ms() - run.started_at_ms) : run.duration_ms;
}

}  // namespace

json structured_run(const RunView& view) {
  const Run& run = view.run;
  json value = {{"session_id", view.session_id},          {"run_id", run.run_id},
                {"language", name_of(run.language)},      {"status", name_of(run.status)},
                {"duration_ms", duration_so_far_ms(run)}, {"outputs", json::array()},
                {"files_changed", json::array()}};
  if (run.exit_code.value_or(0) != 0) value["exit_code"] = *run.exit_code;
  if (!run.network.empty()) value["network"] = shown_network(run.network);
  std::string note = note_of(run);
  add_note(add_streams(view, value), note);
  if (run.error) {
    value["error"] = shown_error(run, value["stderr"].get_ref<const std::string&>());
    if (!view.stdout_offset && !view.stderr_offset) {
      shorten_traceback(run, value["stderr"].get_ref<std::string&>());
    }
  }
  if (!note.empty()) {
    value["note"] = base::shortened(note, kMessageCharacters);
  }
  const std::size_t taken = json_characters(value) + kSlackCharacters;
  add_outputs_and_files(run, kResultCharacters - std::min(taken, kResultCharacters), value);
  return value;
}

}  // namespace tools
