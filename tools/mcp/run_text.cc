#include "tools/mcp/run_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/output.h"
#include "sandbox/session_parts.h"
#include "tools/mcp/output_view.h"
#include "tools/mcp/run_view.h"
#include "tools/mcp/short_forms.h"
#include "tools/text_window.h"

namespace tools {

using nlohmann::json;

namespace {

// Larger ones are thinned: whoever reads the text does not draw, and beside a picture it has only
// to say what that shows.
constexpr std::size_t kChartTextBytes = 4'000;
constexpr std::size_t kChartBesidePictureBytes = 600;
// Characters of data, or of what something is drawn from, that are shown where nothing says the
// same in words.
constexpr std::size_t kSourceCharacters = 4'000;
constexpr int kSignificantDigits = 4;
// A run that is over sooner needs no time told: nobody makes it faster.
constexpr int kMsTold = 1'000;
constexpr const char* kStreams[] = {"stdout", "stderr"};

void add_section(std::string& text, const char* title, const std::string& body) {
  if (body.empty()) return;
  text += std::string(title) + ":\n" + body;
  if (!body.ends_with('\n')) text += '\n';
}

// Returns whether an output has, here or in a file, a form that says more than what its object says
// of itself.
bool says_more(const json& output) {
  constexpr const char* kForms[] = {"markdown", "latex", "json", "html", "svg", "image_path"};
  const json in_files = output.value("truncated", json::object());
  return std::any_of(std::begin(kForms), std::end(kForms), [&](const char* form) {
    return in_files.contains(form) || (output.contains(form) && output[form] != "");
  });
}

// Returns where the whole is of a form that the text has a part of: a run that goes on has no
// record yet.
std::string place_of_whole(const json& run, const json& output, const char* form) {
  const json in_files = output.value("truncated", json::object());
  if (in_files.contains(form)) return in_files[form]["file"].get<std::string>();
  const bool has_record = run["status"] != "running" && run["status"] != "queued";
  return has_record ? sandbox::run_file(run["run_id"].get<std::string>(), "record.json")
                    : "structuredContent";
}

// Adds the form of an output that is meant to be read; where there is none, the next best.
void add_prose(std::string& text, const json& run, const json& output) {
  const char* title = output.value("is_main_result", false) ? "result" : "output";
  for (const std::string_view key : {"text", "markdown", "latex", "json", "html", "svg"}) {
    const auto form = output.find(key);
    if (form == output.end() || *form == "") continue;
    if (key == "text" && sandbox::is_bare(*form) && says_more(output)) continue;
    const std::string body = form->is_string() ? form->get<std::string>() : base::print_json(*form);
    const bool is_source = key == "latex" || key == "json" || key == "svg";
    if (key == "text" && is_table(output)) return add_section(text, title, narrow_table(body));
    return add_section(
        text, title,
        is_source ? base::shortened(body, kSourceCharacters,
                                    "; in " + place_of_whole(run, output, form.key().c_str()))
                  : body);
  }
}

std::string printed_number(double number) {
  char text[32];
  const int size = std::snprintf(text, sizeof text, "%.*g", kSignificantDigits, number);
  return {text, static_cast<std::size_t>(size)};
}

// Four digits are as many as anybody reads from a chart. Whole numbers stay what they are, and
// whole days lose their midnight.
void shorten_values(json& value) {
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    constexpr std::size_t kDay = std::string_view("2024-01-01").size();
    for (const char* midnight : {"T00:00:00", "T00:00:00+00:00"}) {
      if (text.size() > kDay && std::string_view(text).substr(kDay) == midnight) text.resize(kDay);
    }
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    if (!std::isfinite(number)) return;
    const double rounded = std::abs(number) >= std::pow(10, kSignificantDigits - 1)
                               ? std::round(number)
                               : std::strtod(printed_number(number).c_str(), nullptr);
    value = rounded;
    constexpr double kExactMost = 1e15;  // doubles have whole numbers exactly until there
    if (rounded == std::trunc(rounded) && std::abs(rounded) < kExactMost) {
      value = static_cast<std::int64_t>(rounded);
    }
  } else if (value.is_structured()) {
    for (json& part : value) shorten_values(part);
  }
}

// Returns whether an axis has names, which the elements have as well.
bool is_named_by_elements(const json& chart, const json& axis) {
  if (base::string_or(axis, "scale") != "categorical") return false;
  std::set<std::string> labels;
  for (const json& element : chart.value("elements", json::array())) {
    if (element.is_object()) labels.insert(base::string_or(element, "label"));
  }
  const json ticks = axis.value("ticks", json::array());
  return std::all_of(ticks.begin(), ticks.end(), [&labels](const json& tick) {
    return tick.is_string() && labels.contains(tick.get<std::string>());
  });
}

// Says once which group all elements are of.
void name_common_group(json& chart) {
  json& elements = chart["elements"];
  if (elements.size() < 2 || !elements[0].is_object() || !elements[0].contains("group")) return;
  const json group = elements[0]["group"];
  const bool is_common = std::all_of(elements.begin(), elements.end(), [&](const json& element) {
    return element.is_object() && element.value("group", json()) == group;
  });
  if (!is_common) return;
  for (json& element : elements) element.erase("group");
  chart["group"] = group;
}

// Leaves out what says nothing: names that are empty, the usual scale, and numbers beside an axis,
// between which the marks are anyway.
void drop_silent(json& chart) {
  if (!chart.is_object()) return;
  for (const char* axis : {"x", "y"}) {
    if (!chart.contains(axis) || !chart[axis].is_object()) continue;
    json& described = chart[axis];
    if (base::string_or(described, "scale") == "linear") {
      described.erase("scale");
      described.erase("ticks");
    }
    if (described.contains("label") && described["label"] == "") described.erase("label");
    if (is_named_by_elements(chart, described)) {
      described.erase("scale");
      described.erase("ticks");
    }
    if (described.empty()) chart.erase(axis);
  }
  if (chart.contains("title") && chart["title"] == "") chart.erase("title");
  if (!chart.contains("elements") || !chart["elements"].is_array()) return;
  for (json& element : chart["elements"]) {
    if (!element.is_object()) continue;
    if (element.contains("label") && element["label"] == "") element.erase("label");
    if (!element.contains("charts") || !element["charts"].is_array()) continue;
    for (json& part : element["charts"]) drop_silent(part);
  }
  name_common_group(chart);
}

void drop_elements(json& chart) {
  if (!chart.is_object() || !chart.contains("elements")) return;
  if (base::string_or(chart, "type") != "composite") {
    chart.erase("elements");
    return;
  }
  for (json& element : chart["elements"]) {
    if (!element.is_object() || !element.contains("charts")) continue;
    for (json& part : element["charts"]) drop_elements(part);
  }
}

std::size_t elements_in(const json& chart) {
  const auto elements = chart.find("elements");
  return elements != chart.end() && elements->is_array() ? elements->size() : 0;
}

// Leaves out what says less than the values do: the ticks of axes, and which outliers boxes have
// beside how many.
void drop_details(json& chart) {
  if (!chart.is_object()) return;
  for (const char* axis : {"x", "y"}) {
    if (chart.contains(axis) && chart[axis].is_object()) chart[axis].erase("ticks");
  }
  if (elements_in(chart) == 0) return;
  for (json& element : chart["elements"]) {
    if (!element.is_object()) continue;
    if (element.contains("outliers") && element["outliers"].is_array()) {
      element["outliers"] = element["outliers"].size();
    }
    if (!element.contains("charts") || !element["charts"].is_array()) continue;
    for (json& part : element["charts"]) drop_details(part);
  }
}

// The names of its elements, where they have some: nothing else may be left of these.
json names_in(const json& chart) {
  json names = json::array();
  const json elements = chart.value("elements", json::array());
  for (const json& element : elements) {
    std::string name = element.is_object() ? base::string_or(element, "label") : "";
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

// As much of it as there is room for, and where all of it is; the marks come before the ticks of
// the axes.
std::string line_of_chart(json chart, std::size_t bytes_max, const std::string& place) {
  std::string text;
  shorten_values(chart);
  drop_silent(chart);
  const std::size_t all = elements_in(chart);
  const auto add = [&] {
    const bool is_counted = elements_in(chart) == all || chart.contains("elements_total");
    if (!is_counted) chart["elements_total"] = all;
    const std::string printed = base::print_json(with_rows_of_elements(chart));
    if (printed.size() > bytes_max) return false;
    text = "chart: " + printed + "\n";
    return true;
  };
  if (!chart.is_object() || add()) return text;
  drop_details(chart);
  json names = names_in(chart);
  for (std::size_t points = sandbox::kSeriesPointsMax; points >= 2; points /= 2) {
    const bool is_less = points < sandbox::kSeriesPointsMax && sandbox::sample_chart(chart, points);
    if (is_less) chart["sampled"] = "all in " + place;
    if (add()) return text;
  }
  drop_elements(chart);
  chart.erase("sampled");
  chart["values"] = "in " + place;
  if (!names.empty()) {
    chart["labels"] = std::move(names);
    if (add()) return text;
    chart.erase("labels");
  }
  return add() ? text : "chart: in " + place + "\n";
}

// Returns whether a text such as "Figure(6.4x4.8 in, 1 axes): Sales" has no words but the chart's
// title, and the line of the chart has that.
bool is_said_by_chart(const json& output, const std::string& line) {
  constexpr std::string_view kBeforeTitle = "): ";
  const std::string said = base::string_or(output, "text");
  const std::size_t at = said.find(kBeforeTitle);
  if (!output.contains("chart") || !said.starts_with("Figure(") || at == std::string::npos) {
    return false;
  }
  const std::string title = said.substr(at + kBeforeTitle.size());
  return base::string_or(output["chart"], "title") == title &&
         line.find("\"title\":" + base::print_json(title)) != std::string::npos;
}

void add_output(std::string& text, const json& run, const json& output, std::size_t number) {
  const bool is_partial = output.contains("truncated");
  const bool is_page = output.contains("html_path");
  const bool is_bare_page = is_page && sandbox::is_bare(output.value("text", json("<an object>")));
  std::string chart;
  if (output.contains("chart")) {
    chart = line_of_chart(
        output["chart"], output.contains("image_path") ? kChartBesidePictureBytes : kChartTextBytes,
        place_of_whole(run, output, "chart"));
  }
  if (!is_bare_page && !is_said_by_chart(output, chart)) add_prose(text, run, output);
  if (is_page && (!is_partial || !output["truncated"].contains("html"))) {
    text += "html of output " + std::to_string(number) + ": " +
            one_line(output["html_path"].get<std::string>()) + "\n";
  }
  text += chart;
  if (output.contains("image_path")) {
    text += "image: " + one_line(output["image_path"].get<std::string>()) + "\n";
  }
  if (!is_partial) return;
  const bool has_picture_and_chart = output.contains("image_path") && output.contains("chart");
  for (const auto& [format, where] : output["truncated"].items()) {
    const auto bytes = where["total_bytes"].get<std::size_t>();
    if (format == "json" && is_said_by_text(output, bytes)) continue;
    // A figure of plotly has megabytes of both, and all of them say what the two show.
    if (has_picture_and_chart && (format == "html" || format == "json")) continue;
    text += format + " of output " + std::to_string(number) + " is " + where["total_bytes"].dump() +
            " bytes; more: read_file " + one_line(where["file"].get<std::string>()) + "\n";
  }
}

// So much of a message is like no other; an answer has the head and the tail of a longer one.
constexpr std::size_t kMessageHeadBytes = 400;

// Returns whether a line of the traceback has the name and goes on with the message, as node writes
// it: "Error [SQLError]: no such table", "TypeError [ERR_INVALID_URL]: Invalid URL".
bool is_told_by_node(const std::string& name, const std::string& message,
                     const std::string& traceback) {
  const std::size_t at = traceback.find("]: " + message.substr(0, kMessageHeadBytes));
  if (message.empty() || at == std::string::npos) return false;
  const std::size_t line = traceback.rfind('\n', at) + 1;
  return traceback.substr(line, at - line).find(name) != std::string::npos;
}

// Returns whether the traceback says it, be it with the place on a line of its own.
bool is_told(const std::string& said, const std::string& traceback) {
  if (traceback.find(said.substr(0, kMessageHeadBytes)) != std::string::npos) return true;
  const std::size_t place = said.rfind(" (");
  return said.ends_with(')') && place != std::string::npos &&
         traceback.find(said.substr(0, place) + "\n") != std::string::npos;
}

// Once: where the traceback, or the exit code, says it, it is not said before. A failure that loses
// nothing needs no more than that: so it is wherever code fails.
void add_error(std::string& text, const json& failure, const std::string& stderr_text) {
  const std::string message = base::string_or(failure, "message");
  const auto name = failure["name"].get<std::string>();
  const std::string said = name + (message.empty() ? "" : ": " + message);
  const bool told = is_told(said, stderr_text) || is_told_by_node(name, message, stderr_text);
  const bool is_exit = failure["cause"] == "exit" && failure["name"] == "ExitStatus";
  if (((told && failure["cause"] == "exception") || is_exit) && !failure.contains("lost")) return;
  text += "error (" + failure["cause"].get<std::string>() + ")" + (told ? "" : ": " + said) + "\n";
  for (const char* key : {"survived", "lost"}) {
    const std::string what = base::string_or(failure, key);
    if (!what.empty()) text += std::string(key) + ": " + what + "\n";
  }
}

std::string line_of_change(const json& change, const std::string& name, const char* unit) {
  std::string line = one_line(name);
  if (change["change"] == "deleted") return line;
  line += " (" + change["bytes"].dump() + unit;
  if (change.contains("possibly_incomplete")) line += ", possibly incomplete";
  return line + ")";
}

// Many of one folder in one line. Where the list lacks some, no folder's number is known.
void add_changes(std::string& text, const json& value) {
  const bool are_all = !value.contains("files_changed_total");
  constexpr std::size_t kManyInAFolder = 4;
  constexpr std::size_t kLinesOfChangesMax = 40;
  constexpr std::size_t kNamesInAFolderMax = 20;
  using Group = std::pair<std::string, std::string>;  // change and folder
  std::map<Group, std::vector<const json*>> groups;
  for (const json& change : value["files_changed"]) {
    const std::string path = change["path"].get<std::string>();
    if (change.contains("files")) {
      const json& count = change["files"];
      text += (are_all ? "" : "at least ") + count.dump() + (count == 1 ? " file" : " files") +
              " changed in " + one_line(path) + "\n";
      continue;
    }
    groups[{change["change"].get<std::string>(), path.substr(0, path.rfind('/') + 1)}].push_back(
        &change);
  }
  std::size_t lines = 0;
  std::size_t untold = 0;
  for (const auto& [group, changes] : groups) {
    const auto& [what, folder] = group;
    const bool are_many = changes.size() >= kManyInAFolder;
    lines += are_many ? 1 : changes.size();
    if (lines > kLinesOfChangesMax) {
      untold += changes.size();
      continue;
    }
    if (are_many) {
      text += what + " in " + one_line(folder) + (what == "deleted" ? ":" : " (with their bytes):");
    }
    const std::size_t shown =
        are_many ? std::min(changes.size(), kNamesInAFolderMax) : changes.size();
    for (const json* change : std::span(changes).first(shown)) {
      const std::string path = (*change)["path"].get<std::string>();
      if (are_many) {
        text += (change == changes.front() ? " " : ", ") +
                line_of_change(*change, path.substr(folder.size()), "");
      } else {
        text += what + " " + line_of_change(*change, path, " bytes") + "\n";
      }
    }
    if (shown < changes.size()) {
      text += are_all ? " and " + std::to_string(changes.size() - shown) + " more" : " and more";
    }
    if (are_many) text += "\n";
  }
  if (untold > 0) {
    text += (are_all ? std::to_string(untold) + " more" : "more") +
            " files changed, in other folders: list_files\n";
  }
  if (value.contains("files_changed_total")) {
    text += value["files_changed_total"].dump() + " files changed in all\n";
  }
}

void add_truncated(std::string& text, const json& truncated) {
  for (const auto& [what, where] : truncated.items()) {
    const bool outputs = what == "outputs";
    text += what +
            (outputs ? " are " + where["total"].dump() + " in all; all of them: read_file "
                     : " is " + where["total_bytes"].dump() + " bytes; all of it: read_file ") +
            where["file"].get<std::string>() + "\n";
  }
}

std::string with_each(std::string text, const std::string& old, std::string_view other) {
  if (old.empty()) return text;
  for (std::size_t at = text.find(old); at != std::string::npos;
       at = text.find(old, at + other.size())) {
    text.replace(at, old.size(), other);
  }
  return text;
}

void add_network(std::string& text, const json& network) {
  std::string hosts;
  for (const json& host : network.value("allowed", json::array())) {
    hosts += " " + host.get<std::string>();
  }
  if (!hosts.empty()) {
    text += "network: reached" + one_line(hosts) + ", " +
            std::to_string(base::integer_or(network, "bytes", 0)) + " bytes\n";
  }
  // Hosts that are refused for the same reason are one line, where it has HOST for each.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> by_reason;
  const json refused = network.value("refused", json::array());
  for (const json& refusal : refused) {
    const auto host = refusal["host"].get<std::string>();
    const auto reason = refusal["reason"].get<std::string>();
    by_reason[with_each(reason, host, "HOST")].emplace_back(host, reason);
  }
  for (const auto& [reason, refusals] : by_reason) {
    std::string hosts_of_it;
    for (const auto& [host, own] : refusals) base::append_part(hosts_of_it, host);
    text += "network: " + one_line(hosts_of_it) +
            " refused: " + one_line(refusals.size() == 1 ? refusals.front().second : reason) + "\n";
  }
}

// Returns whether the failure is an exception, which has no exit code but 1, and of which the
// traceback tells.
bool is_usual_failure(const json& value) {
  const auto failure = value.find("error");
  return failure != value.end() && (*failure)["cause"] == "exception" &&
         !failure->contains("lost") && value["exit_code"] == 1;
}

// Returns whether a stream goes on behind what is shown of it.
bool shows_a_part(const json& value) {
  const auto truncated = value.find("truncated");
  if (truncated == value.end()) return false;
  return std::any_of(std::begin(kStreams), std::end(kStreams), [&](const char* stream) {
    const auto total = truncated->find(stream);
    return total != truncated->end() &&
           value[std::string(stream) + "_next_offset"] < (*total)["total_bytes"];
  });
}

}  // namespace

std::string text_of_run(const json& value, SessionName session_name) {
  std::string text = value["status"].get<std::string>();
  if (value.contains("exit_code") && !is_usual_failure(value)) {
    text += ", exit code " + value["exit_code"].dump();
  }
  if (value["duration_ms"] >= kMsTold) text += ", " + value["duration_ms"].dump() + " ms";
  text += ", " + value["run_id"].get<std::string>();
  if (session_name == SessionName::kShown) text += " in " + value["session_id"].get<std::string>();
  text += "\n";
  if (value.contains("error")) {
    add_error(text, value["error"], value["stderr"].get_ref<const std::string&>());
  }
  add_section(text, "stdout", value["stdout"].get<std::string>());
  add_section(text, "stderr", value["stderr"].get<std::string>());
  std::size_t number = 0;
  for (const json& output : value["outputs"]) add_output(text, value, output, ++number);
  add_changes(text, value);
  if (value.contains("network")) add_network(text, value["network"]);
  if (value.contains("truncated")) add_truncated(text, value["truncated"]);
  if (value["status"] == "running" || shows_a_part(value)) {
    text += "to read on: get_run with stdout_offset " + value["stdout_next_offset"].dump() +
            ", stderr_offset " + value["stderr_next_offset"].dump() + "\n";
  }
  if (value.contains("note")) text += "note: " + value["note"].get<std::string>() + "\n";
  return base::shortened(text, kResultCharacters);
}

}  // namespace tools
