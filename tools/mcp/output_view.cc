#include "tools/mcp/output_view.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/shortened_text.h"
#include "base/utf8.h"
#include "sandbox/output.h"
#include "tools/mcp/short_forms.h"
#include "tools/mcp/terminal_text.h"

namespace tools {

using nlohmann::json;
using sandbox::Format;

namespace {

// Less of a text than this, or of the room for a chart, is not worth the while.
constexpr std::size_t kTextLeast = 400;
constexpr std::size_t kChartLeast = 600;
// {"html":{"file":"/runs/run_…/100.chart.json","total_bytes":33554432}}, and its comma.
constexpr std::size_t kTruncatedCharacters = 140;

std::size_t bytes_of(const json& value) {
  return value.is_string() ? value.get_ref<const std::string&>().size()
                           : base::print_json(value).size();
}

// Bytes of data that are shown beside a text: more of it most often repeats what the text says, and
// whoever wants more than a look at it finds it in its file.
constexpr std::size_t kDataBesideTextMax = 1'200;
// Beside a table that is whole.
constexpr std::size_t kDataBesideTableMax = 600;
// Points of each series that are shown beside the picture of them: what a line does, and where, is
// seen with these, and the file has the others.
constexpr std::size_t kPointsBesidePictureMax = 100;
// Characters that are shown of one value: whoever wants more of it asks the code for the part that
// matters.
constexpr std::size_t kProseCharactersMax = 4'000;

bool says_it(const json& output, const char* form) {
  const auto found = output.find(form);
  return found != output.end() && *found != "" && !sandbox::is_bare(*found);
}

// Here, or in a file.
bool has(const json& output, const char* form) {
  if (output.contains(form)) return true;
  const auto files = output.find("files");
  return files != output.end() && files->contains(form);
}

bool has_table(const json& output) {
  return output.contains("html") && output["html"].is_string() &&
         output["html"].get_ref<const std::string&>().find("<table") != std::string::npos;
}

// Returns whether this form of an output is one that another form says, too, in fewer characters.
// `shown` has its text by now, if that is shown. A file that is not there yet stands for no small
// data.
bool is_repeated(const json& output, const json& shown, std::string_view form,
                 const RecordFile& record) {
  const bool has_text = says_it(output, "text");
  if (form == "csv") return has_text || says_it(output, "json");
  if (form == "svg") return output.contains("image_path");
  if (form == "html") {
    return has_text && (has(output, "json") || has(output, "chart") || has_table(output));
  }
  if (form != "json" || !has_text) return false;
  const std::size_t bytes = bytes_of(output["json"]);
  const json files = output.value("files", json::object());
  const bool is_in_file = record.is_written || files.contains("json");
  return bytes > kDataBesideTextMax ||
         (bytes > kDataBesideTableMax && is_in_file && is_said_by_text(shown, bytes));
}

// Makes prose that steers a terminal what that would show, and returns whether something was
// written over by it. A lone carriage return stays: values are data, and it may stand in any.
bool obey_codes(json& value, const Format& format) {
  if (!format.is_prose || !value.is_string()) return false;
  auto& text = value.get_ref<std::string&>();
  if (text.find_first_of("\x1b\b\x07") == text.npos) return false;
  TerminalText seen = as_last_seen(text);
  const bool has_gone = seen.was_written_over || (seen.text.empty() && !text.empty());
  text = std::move(seen.text);
  return has_gone;
}

// Where the page lies that an output is, and is nothing else; empty for any other.
std::string page_path(const json& output) {
  json forms = output;
  if (!forms.contains("files") || !forms["files"].contains("html")) return "";
  forms["html"] = "";  // it may be in the file only
  return sandbox::is_page(forms) ? forms["files"]["html"].value("file", "") : "";
}

// Adds the forms of outputs as long as there is room; `left` may run below zero by none.
class Filling {
 public:
  Filling(const std::vector<json>& outputs, std::size_t room, const RecordFile& record)
      : given_(outputs), left_(room), record_(record) {}

  json fill() {
    begin();
    // The main result before the others; what can be read before what has to be drawn.
    for (const bool main : {true, false}) {
      for (const char* prose : {"text", "markdown"}) add_all(prose, main);
    }
    for (const char* format : {"chart", "json", "csv", "html", "latex", "svg"}) {
      for (const bool main : {true, false}) add_all(format, main);
    }
    return std::move(shown_);
  }

 private:
  // Places the members that stay, whatever else is left out of an output. Those of main results
  // come first, so that no others take their room.
  void begin() {
    std::vector<json> frames;
    for (const json& output : given_) {
      json frame = {{"formats", output.value("formats", json::array())}};
      if (is_main(output)) frame["is_main_result"] = true;
      if (output.contains("image_path")) frame["image_path"] = output["image_path"];
      if (const std::string path = page_path(output); !path.empty()) frame["html_path"] = path;
      frames.push_back(std::move(frame));
    }
    std::vector<bool> taken(frames.size());
    const auto take = [&](bool main, std::size_t spared) {
      for (std::size_t i = 0; i < frames.size(); ++i) {
        const std::size_t size = json_characters(frames[i]) + 1;
        if (is_main(given_[i]) != main || size + spared > left_) continue;
        left_ -= size;
        taken[i] = true;
      }
    };
    take(true, 0);
    take(false, std::min(left_ / 2, prose_of_main()));
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (!taken[i]) continue;
      shown_.push_back(std::move(frames[i]));
      sources_.push_back(i);
    }
  }

  // Room without which the others would leave a main result nothing to say.
  [[nodiscard]] std::size_t prose_of_main() const {
    std::size_t size = 0;
    for (const json& output : given_) {
      if (!is_main(output)) continue;
      size += kTruncatedCharacters + kTextLeast + json_characters(output.value("text", ""));
    }
    return size;
  }

  static bool is_main(const json& output) { return output.value("is_main_result", false); }

  void add_all(std::string_view name, bool main) {
    for (const Format& format : sandbox::kFormats) {
      if (name != format.name) continue;
      for (std::size_t i = 0; i < shown_.size(); ++i) {
        const json& source = given_[sources_[i]];
        if (is_main(source) == main) add(source, shown_[i], format);
      }
    }
  }

  void add(const json& output, json& shown, const Format& format) {
    const bool has_file = output.contains("files") && output["files"].contains(format.name);
    const bool is_here = output.contains(format.name);
    if (!has_file && !is_here) return;
    if (is_here && is_repeated(output, shown, format.name, record_)) {
      // Nobody misses the letters of a drawing, or of a page whose data is here too. A table that
      // is all there is beside a text may have more than the text says.
      const bool is_lone_table = std::string_view(format.name) == "html" && has_table(output) &&
                                 !has(output, "json") && !has(output, "chart");
      if (!has_file && !is_data(format) && !is_lone_table) return;
      return name_file(output, shown, format);
    }
    json value = is_here ? output[format.name] : json();
    std::size_t total = is_here ? bytes_of(value) : 0;
    if (has_file) total = output["files"][format.name].value("total_bytes", total);
    const bool was_whole = is_here && bytes_of(value) == total;
    const bool was_written_over = obey_codes(value, format);
    const json seen = value;
    if (was_whole) total = bytes_of(seen);
    const bool fits = is_here && fit(value, format, total, output.contains("image_path"));
    if (fits) {
      left_ -= json_characters(value) + key_characters(format);
      shown[format.name] = value;
    }
    if (fits && was_whole && value == seen && !was_written_over) return;
    name_file(output, shown, format);
  }

  static bool is_data(const Format& format) {
    return std::string_view(format.name) == "json" || std::string_view(format.name) == "csv";
  }

  // Where all of it is, for what is not shown whole.
  void name_file(const json& output, json& shown, const Format& format) {
    if (left_ < kTruncatedCharacters) return;
    left_ -= kTruncatedCharacters;
    const json files = output.value("files", json::object());
    const bool has_file = files.contains(format.name);
    std::size_t total = output.contains(format.name) ? bytes_of(output[format.name]) : 0;
    if (has_file) total = files[format.name].value("total_bytes", total);
    shown["truncated"][format.name] = {
        {"file", has_file ? files[format.name].value("file", "") : record_.path},
        {"total_bytes", total}};
  }

  static std::size_t key_characters(const Format& format) {
    return std::string_view(format.name).size() + 4;  // quotes, colon, comma
  }

  // Makes it small enough; false when that is not to be had. `total_bytes` is what all of it has.
  [[nodiscard]] bool fit(json& value, const Format& format, std::size_t total_bytes,
                         bool has_picture) const {
    const std::size_t taken = kTruncatedCharacters + key_characters(format) + 2;
    if (left_ < taken + kTextLeast) return false;
    const std::size_t most = left_ - taken;
    if (format.is_prose && value.is_string()) {
      value = base::shortened(value.get_ref<const std::string&>(),
                              std::min(most, kProseCharactersMax), "", total_bytes);
      return true;
    }
    if (std::string_view(format.name) == "chart") {
      const std::size_t points = has_picture ? kPointsBesidePictureMax : sandbox::kSeriesPointsMax;
      return fit_chart(value, points, most);
    }
    return json_characters(value) <= std::min(most, sandbox::kFormatCharactersMax);
  }

  static bool fit_chart(json& chart, std::size_t points_max, std::size_t most) {
    if (most < kChartLeast) return false;
    for (std::size_t points = points_max; points >= 8; points /= 2) {
      sandbox::sample_chart(chart, points);
      if (json_characters(chart) <= most) return true;
    }
    return false;
  }

  const std::vector<json>& given_;
  json shown_ = json::array();
  std::vector<std::size_t> sources_;  // for each shown one, its place in given_
  std::size_t left_;
  const RecordFile& record_;
};

}  // namespace

bool is_table(const json& output) {
  const json formats = output.value("formats", json::array());
  const auto has = [&formats](const char* name) {
    return std::find(formats.begin(), formats.end(), name) != formats.end();
  };
  return has("html") && has("json");
}

bool is_said_by_text(const json& output, std::size_t data_bytes) {
  const bool has_text_whole = output.contains("text") && output["text"].is_string() &&
                              !output.value("truncated", json::object()).contains("text");
  return data_bytes <= kDataBesideTextMax && is_table(output) && has_text_whole &&
         is_whole_table(output["text"].get_ref<const std::string&>());
}

std::size_t json_characters(const json& value) {
  const std::string text = base::print_json(value);
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return !base::continues_character(byte); }));
}

json outputs_within(const std::vector<json>& outputs, std::size_t room, const RecordFile& record) {
  return Filling(outputs, room, record).fill();
}

}  // namespace tools
