#include "sandbox/output.h"

#include <nlohmann/json.hpp>

#include "sandbox/wire/json.h"

namespace sandbox {

using nlohmann::json;

namespace {

constexpr std::size_t kFormatsMax = 16;
constexpr const char* kTextKeys[] = {"text", "html", "markdown", "latex", "svg", "image_path"};

}  // namespace

json checked_output(const json& raw) {
  json output = {{"is_main_result", wire::boolean_or(raw, "is_main_result", false)},
                 {"formats", json::array()}};
  if (const auto formats = raw.find("formats"); formats != raw.end() && formats->is_array()) {
    for (const json& format : *formats) {
      if (format.is_string() && output["formats"].size() < kFormatsMax) {
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
  return output;
}

}  // namespace sandbox
