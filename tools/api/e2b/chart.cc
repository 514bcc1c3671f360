#include "tools/api/e2b/chart.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tools::api::e2b {

using nlohmann::json;

namespace {

constexpr double kFullAngle = 360;

const json& member(const json& value, const char* name) {
  static const json kNone;
  const auto found = value.is_object() ? value.find(name) : value.end();
  return value.is_object() && found != value.end() ? *found : kNone;
}

// Theirs say nothing of what has no name.
json named(const json& text) { return text == "" ? json() : text; }

void add_axis(const json& chart, const char* name, json& shown) {
  const json& axis = member(chart, name);
  const std::string prefix = std::string(name) + "_";
  shown[prefix + "label"] = named(member(axis, "label"));
  shown[prefix + "unit"] = member(axis, "unit");
}

void add_scale(const json& chart, const char* name, json& shown) {
  const json& axis = member(chart, name);
  const std::string prefix = std::string(name) + "_";
  const json& scale = member(axis, "scale");
  shown[prefix + "scale"] = scale.is_null() ? json("linear") : scale;
  const json& ticks = member(axis, "ticks");
  shown[prefix + "ticks"] = ticks.is_array() ? ticks : json::array();
  json labels = json::array();
  for (const json& tick : shown[prefix + "ticks"]) {
    labels.push_back(tick.is_string() ? tick : json(tick.dump()));
  }
  shown[prefix + "tick_labels"] = std::move(labels);
}

json bars(const json& elements, const char* value) {
  json all = json::array();
  for (const json& element : elements) {
    const json& group = member(element, "group");
    all.push_back({{"label", member(element, "label")},
                   {"group", group.is_null() ? json("") : group},
                   {"value", member(element, value)}});
  }
  return all;
}

json slices(const json& elements) {
  json all = json::array();
  for (const json& element : elements) {
    const json& fraction = member(element, "fraction");
    all.push_back({{"label", member(element, "label")},
                   {"angle", fraction.is_number() ? fraction.get<double>() * kFullAngle : 0},
                   {"radius", 1}});
  }
  return all;
}

}  // namespace

json chart_of(const json& chart) {
  const std::string type =
      member(chart, "type").is_string() ? chart["type"].get<std::string>() : "";
  const json& elements = member(chart, "elements");
  json shown = {{"type", type}, {"title", named(member(chart, "title"))}, {"elements", elements}};
  if (type == "composite") {
    shown["type"] = "superchart";
    shown["elements"] = json::array();
    for (const json& element : elements) {
      for (const json& part : member(element, "charts")) {
        shown["elements"].push_back(chart_of(part));
      }
    }
    return shown;
  }
  if (type == "pie") {
    shown["elements"] = slices(elements);
    return shown;
  }
  add_axis(chart, "x", shown);
  add_axis(chart, "y", shown);
  if (type == "line" || type == "scatter") {
    add_scale(chart, "x", shown);
    add_scale(chart, "y", shown);
  } else if (type == "bar") {
    shown["elements"] = bars(elements, "value");
  } else if (type == "box") {
    shown["type"] = "box_and_whisker";
  } else {
    shown["type"] = "unknown";
  }
  return shown;
}

json unknown_chart(const std::string& text) {
  constexpr std::string_view kBeforeTitle = "): ";
  const std::size_t at = text.find(kBeforeTitle);
  return {{"type", "unknown"},
          {"title", at == std::string::npos ? json() : json(text.substr(at + kBeforeTitle.size()))},
          {"elements", json::array()}};
}

}  // namespace tools::api::e2b
