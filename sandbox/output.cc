#include "sandbox/output.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/session_parts.h"

namespace sandbox {

using nlohmann::json;

namespace {

constexpr std::size_t kFormatsMax = 16;
constexpr std::size_t kFormatNameBytesMax = 32;
constexpr std::size_t kFilePathBytesMax = 200;
constexpr const char* kTextKeys[] = {"text", "html", "markdown", "latex", "svg", "image_path"};

json checked_files(const json& raw) {
  json files = json::object();
  for (const Format& format : kFormats) {
    const auto found = raw.find(format.name);
    if (found == raw.end() || !found->is_object()) continue;
    const std::string path = base::string_or(*found, "file");
    const std::int64_t bytes = base::integer_or(*found, "total_bytes", -1);
    if (path.empty() || path.size() > kFilePathBytesMax || bytes < 0) continue;
    files[format.name] = {{"file", path}, {"total_bytes", bytes}};
  }
  return files;
}

// The number and extension behind the folder of that run; empty for any other path.
std::string name_in_run(const std::string& path, const std::string& run_id,
                        std::string_view extension) {
  const std::string folder = run_file(run_id, "");
  if (!path.starts_with(folder) || !path.ends_with(extension)) return "";
  const std::string name = path.substr(folder.size());
  if (name.size() <= extension.size()) return "";
  const std::string number = name.substr(0, name.size() - extension.size());
  return number.find_first_not_of("0123456789") == std::string::npos ? name : "";
}

}  // namespace

json checked_output(const json& raw) {
  json output = {{"is_main_result", base::boolean_or(raw, "is_main_result", false)},
                 {"formats", json::array()}};
  if (const auto formats = raw.find("formats"); formats != raw.end() && formats->is_array()) {
    for (const json& format : *formats) {
      if (format.is_string() &&
          format.get_ref<const std::string&>().size() <= kFormatNameBytesMax &&
          output["formats"].size() < kFormatsMax) {
        output["formats"].push_back(format);
      }
    }
  }
  for (const char* key : kTextKeys) {
    if (const auto text = raw.find(key); text != raw.end() && text->is_string())
      output[key] = *text;
  }
  if (const auto value = raw.find("json"); value != raw.end()) output["json"] = *value;
  if (const auto chart = raw.find("chart"); chart != raw.end() && chart->is_object()) {
    output["chart"] = *chart;
  }
  if (const auto files = raw.find("files"); files != raw.end() && files->is_object()) {
    output["files"] = checked_files(*files);
  }
  return output;
}

bool is_bare(const json& text) {
  if (!text.is_string()) return false;
  const auto& words = text.get_ref<const std::string&>();
  return words.starts_with('<') && words.ends_with('>') && words.find('\n') == words.npos &&
         (words.ends_with(" object>") || words.find(" object at 0x") != words.npos);
}

bool is_page(const json& output) {
  if (!output.contains("html")) return false;
  for (const char* other : {"markdown", "latex", "svg", "csv", "chart", "image_path"}) {
    if (output.contains(other)) return false;
  }
  // The specification of a figure that could not be drawn says nothing to a reader; a table does.
  const auto data = output.find("json");
  if (data != output.end()) return data->is_object() && !data->contains("rows");
  return !output.contains("text") || is_bare(output["text"]);
}

std::string picture_name(const json& output, const std::string& run_id) {
  return name_in_run(base::string_or(output, "image_path"), run_id, ".png");
}

std::string whole_name(const json& output, const std::string& run_id, std::string_view format) {
  const auto* const known = std::find_if(std::begin(kFormats), std::end(kFormats),
                                         [format](const Format& f) { return f.name == format; });
  const json files = output.is_object() ? output.value("files", json()) : json();
  if (known == std::end(kFormats) || !files.is_object() || !files.contains(format)) return "";
  return name_in_run(base::string_or(files[std::string(format)], "file"), run_id, known->extension);
}

}  // namespace sandbox
