#include "tools/api/e2b/cell_result.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "sandbox/output.h"
#include "sandbox/session_parts.h"
#include "sessions/run_files.h"
#include "tools/api/e2b/chart.h"
#include "tools/text_window.h"

namespace tools::api::e2b {

using nlohmann::json;

namespace {

// The forms of one result may have so much together.
constexpr std::size_t kFormsBytesMax = std::size_t{16} << 20;

// Their server shows a string without its quotes.
std::string unquoted(const std::string& text) {
  const bool is_quoted = text.size() >= 2 && text.front() == text.back() &&
                         (text.front() == '\'' || text.front() == '"');
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

// A table's columns, each by its name; nothing where rows are left out, two have one name, or code
// has made what is no table: its rows have a value for each column.
json columns_of(const json& table) {
  if (!table.is_object() || table.value("truncated", json()) != false) return {};
  const auto names = table.find("columns");
  const auto rows = table.find("rows");
  if (names == table.end() || rows == table.end()) return {};
  const auto is_row = [&names](const json& row) {
    return row.is_array() && row.size() == names->size();
  };
  const bool is_table =
      names->is_array() && rows->is_array() && std::all_of(rows->begin(), rows->end(), is_row);
  if (!is_table) return {};
  json columns = json::object();
  for (std::size_t at = 0; at < names->size(); ++at) {
    const json& name = (*names)[at];
    if (!name.is_object() || base::boolean_or(name, "index", false)) continue;
    json& column = columns[base::string_or(name, "name")];
    if (!column.is_null()) return {};
    column = json::array();
    for (const json& row : *rows) column.push_back(row[at]);
  }
  return columns;
}

// Gives what the forms of one output have: those that it has in short, from their files.
class WholeForms {
 public:
  WholeForms(const Services& services, const sessions::RunState& state, std::size_t at)
      : services_(services), state_(state), number_(at + 1), output_(state.run.outputs[at]) {}

  // Null where the output has no such form. One that is not to be had whole is as the output shows
  // it, which is told.
  json find(const char* format);
  // Returns the bytes of its picture; none where it has none, or not all of it.
  std::string picture();
  std::vector<std::string> take_left_out() { return std::move(left_out_); }

 private:
  // Nothing, and told, where it has too much or is not kept.
  std::optional<std::string> read(const std::string& name, const std::string& form);
  void tell(const std::string& name, const std::string& form, const std::string& why) {
    left_out_.push_back("not all of the " + form + " of result " + std::to_string(number_) +
                        " is here: " + why + " (" + sandbox::run_file(state_.run.run_id, name) +
                        ")");
  }

  const Services& services_;
  const sessions::RunState& state_;
  const std::size_t number_;
  std::size_t room_ = kFormsBytesMax;
  const json& output_;
  std::vector<std::string> left_out_;
};

std::optional<std::string> WholeForms::read(const std::string& name, const std::string& form) {
  auto bytes = services_.run_files.read(state_.session_id, state_.run.run_id, name, 0, room_ + 1);
  if (!bytes.ok()) {
    tell(name, form, "its file is not kept");
  } else if (bytes.value().size() > room_) {
    tell(name, form, "the result has more than " + std::to_string(kFormsBytesMax >> 20) + " MiB");
  } else {
    room_ -= bytes.value().size();
    return std::move(bytes).value();
  }
  return std::nullopt;
}

json WholeForms::find(const char* format) {
  const json shown = output_.value(format, json());
  const std::string name = sandbox::whole_name(output_, state_.run.run_id, format);
  if (name.empty()) return shown;
  const auto bytes = read(name, format);
  if (!bytes) return shown;
  const bool is_data = std::string_view(format) == "json" || std::string_view(format) == "chart";
  if (!is_data) return to_utf8(*bytes);
  auto value = base::parse_json(*bytes);
  if (value.ok()) return std::move(value).value();
  tell(name, format, value.error().message);
  return shown;
}

std::string WholeForms::picture() {
  const std::string name = sandbox::picture_name(output_, state_.run.run_id);
  return name.empty() ? "" : read(name, "picture").value_or("");
}

}  // namespace

CellResult cell_result(const Services& services, const sessions::RunState& state, std::size_t at) {
  const json& output = state.run.outputs[at];
  WholeForms forms(services, state, at);
  json event = {{"type", "result"}, {"is_main_result", output.value("is_main_result", false)}};
  for (const char* format : {"text", "html", "markdown", "latex", "svg", "json"}) {
    if (json form = forms.find(format); !form.is_null()) event[format] = std::move(form);
  }
  if (event.value("text", json()).is_string()) {
    event["text"] = unquoted(event["text"].get_ref<const std::string&>());
  }
  if (event.contains("json")) {
    if (json columns = columns_of(event["json"]); !columns.empty()) {
      event["data"] = std::move(columns);
    }
  }
  const std::string picture = forms.picture();
  if (!picture.empty()) event["png"] = base::to_base64(picture);
  const std::string shown = base::string_or(output, "text");
  if (const json chart = forms.find("chart"); chart.is_object()) {
    event["chart"] = chart_of(chart);
  } else if (output.contains("image_path") && shown.starts_with("Figure(")) {
    // A figure whose marks nothing here knows has a chart of an unknown kind there.
    event["chart"] = unknown_chart(shown);
  }
  return {base::print_json(event), forms.take_left_out()};
}

}  // namespace tools::api::e2b
