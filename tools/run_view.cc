#include "tools/run_view.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tools/text_window.h"

namespace tools {

using nlohmann::json;
using sandbox::Run;

namespace {

// Of one output's text, table or markup; more only fills a model's context.
constexpr std::size_t kOutputTextBytes = 20'000;

struct Window {
  std::string text;
  std::int64_t next_offset = 0;
  bool truncated = false;
};

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
  const std::size_t half = room / 2;
  const std::int64_t tail_start = total - static_cast<std::int64_t>(half);
  const auto head = view.read(stream, 0, half + 4);
  const auto tail = view.read(stream, tail_start, half);
  if (!head.ok() || !tail.ok()) return window;
  const std::size_t head_size = whole_characters(head.value(), half);
  const std::size_t skip = broken_start(tail.value());
  const std::int64_t missing =
      tail_start + static_cast<std::int64_t>(skip) - static_cast<std::int64_t>(head_size);
  window.text = to_utf8(std::string_view(head.value()).substr(0, head_size)) + "\n... " +
                std::to_string(missing) + " bytes left out ...\n" +
                to_utf8(std::string_view(tail.value()).substr(skip));
  window.truncated = true;
  return window;
}

void shorten(json& output, const char* key) {
  const auto member = output.find(key);
  if (member == output.end()) return;
  const std::size_t size =
      member->is_string() ? member->get_ref<const std::string&>().size()
                          : member->dump(-1, ' ', false, json::error_handler_t::replace).size();
  if (size <= kOutputTextBytes) return;
  if (std::string_view(key) == "text") {
    const std::string& text = member->get_ref<const std::string&>();
    *member = text.substr(0, whole_characters(text, kOutputTextBytes)) + "\n... " +
              std::to_string(size) + " bytes in all";
    return;
  }
  output.erase(member);
  auto& formats = output["formats"];
  formats.erase(std::remove(formats.begin(), formats.end(), key), formats.end());
}

json shown_outputs(const Run& run) {
  json outputs = run.outputs;
  for (json& output : outputs) {
    for (const char* key : {"text", "html", "json", "markdown", "latex", "svg"})
      shorten(output, key);
  }
  return outputs;
}

json shown_error(const sandbox::RunError& failure) {
  json value = {{"name", failure.name},
                {"message", failure.message},
                {"cause", name_of(failure.cause)},
                {"survived", failure.survived},
                {"lost", failure.lost}};
  if (!failure.traceback.empty()) value["traceback"] = failure.traceback;
  return value;
}

void add_streams(const RunView& view, json& value) {
  const Run& run = view.run;
  const bool follows = view.stdout_offset || view.stderr_offset;
  const auto left = [](std::int64_t total, std::int64_t offset) {
    return static_cast<std::size_t>(std::max<std::int64_t>(total - offset, 0));
  };
  const std::int64_t out_from = view.stdout_offset.value_or(0);
  const std::int64_t err_from = view.stderr_offset.value_or(0);
  const Shares shares = share_room(left(run.stdout_bytes, out_from),
                                   left(run.stderr_bytes, err_from), kInlineOutputBytes);
  const auto window_of = [&](Stream stream, std::int64_t total, std::int64_t from,
                             std::size_t room) {
    return follows ? read_on(view, stream, total, from, room)
                   : head_and_tail(view, stream, total, room);
  };
  const Window out = window_of(Stream::kStdout, run.stdout_bytes, out_from, shares.first);
  const Window err = window_of(Stream::kStderr, run.stderr_bytes, err_from, shares.second);
  value["stdout"] = out.text;
  value["stderr"] = err.text;
  value["stdout_next_offset"] = out.next_offset;
  value["stderr_next_offset"] = err.next_offset;
  json truncated = json::object();
  const auto tell = [&](Stream stream, const Window& window, std::int64_t total) {
    if (!window.truncated) return;
    truncated[file_name(stream)] = {
        {"total_bytes", total},
        {"file", "/runs/" + run.run_id + "/" + file_name(stream)}};
  };
  tell(Stream::kStdout, out, run.stdout_bytes);
  tell(Stream::kStderr, err, run.stderr_bytes);
  if (!truncated.empty()) value["truncated"] = truncated;
}

std::string note_of(const Run& run) {
  if (is_terminal(run.status) || !run.note.empty()) return run.note;
  return "still " + std::string(name_of(run.status)) + ": call get_run with this run_id" +
         (run.background ? "; cancel_run ends it" : "");
}

void add_section(std::string& text, const char* title, const std::string& body) {
  if (body.empty()) return;
  text += std::string(title) + ":\n" + body;
  if (!body.ends_with('\n')) text += '\n';
}

}  // namespace

json structured_run(const RunView& view) {
  const Run& run = view.run;
  json value = {{"session_id", view.session_id},
                {"run_id", run.run_id},
                {"language", name_of(run.language)},
                {"status", name_of(run.status)},
                {"exit_code", run.exit_code ? json(*run.exit_code) : json()},
                {"duration_ms", run.duration_ms},
                {"outputs", shown_outputs(run)},
                {"files_changed", json::array()}};
  for (const sandbox::FileChange& change : run.files_changed) {
    value["files_changed"].push_back(
        {{"path", change.path}, {"change", change.change}, {"bytes", change.bytes}});
  }
  if (run.error) value["error"] = shown_error(*run.error);
  add_streams(view, value);
  if (const std::string note = note_of(run); !note.empty()) value["note"] = note;
  return value;
}

std::string text_of_run(const json& value) {
  std::string text = value["status"].get<std::string>();
  if (!value["exit_code"].is_null()) text += ", exit code " + value["exit_code"].dump();
  text += ", " + value["duration_ms"].dump() + " ms, session_id " +
          value["session_id"].get<std::string>() + ", run_id " +
          value["run_id"].get<std::string>() + "\n";
  if (value.contains("error")) {
    const json& failure = value["error"];
    text += "error (" + failure["cause"].get<std::string>() +
            "): " + failure["name"].get<std::string>() + ": " +
            failure["message"].get<std::string>() + "\n";
    for (const char* key : {"survived", "lost"}) {
      const std::string what = failure[key].get<std::string>();
      if (!what.empty()) text += std::string(key) + ": " + what + "\n";
    }
  }
  add_section(text, "stdout", value["stdout"].get<std::string>());
  add_section(text, "stderr", value["stderr"].get<std::string>());
  for (const json& output : value["outputs"]) {
    const bool main = output.value("is_main_result", false);
    for (const char* key : {"text", "markdown"}) {
      if (!output.contains(key)) continue;
      add_section(text, main ? "result" : "output", output[key].get<std::string>());
      break;
    }
    if (output.contains("image_path")) {
      text += "image: " + output["image_path"].get<std::string>() + "\n";
    }
  }
  for (const json& change : value["files_changed"]) {
    text += change["change"].get<std::string>() + " " +
            one_line(change["path"].get<std::string>()) + " (" + change["bytes"].dump() +
            " bytes)\n";
  }
  if (value.contains("truncated")) {
    for (const auto& [stream, where] : value["truncated"].items()) {
      text += stream + " is " + where["total_bytes"].dump() + " bytes; all of it: read_file " +
              where["file"].get<std::string>() + "\n";
    }
  }
  if (value.contains("note")) text += "note: " + value["note"].get<std::string>() + "\n";
  return text;
}

}  // namespace tools
