// sample_chart() of output.h.
#include <algorithm>
#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

#include "sandbox/output.h"

namespace sandbox {

using nlohmann::json;

namespace {

// composite in composite; nothing that a runner makes is deeper.
constexpr int kDepthMax = 4;

// Returns the y of a point, the height of a bar or a bin, and NaN for what has none.
double height_of(const json& item) {
  const json* value = &item;
  if (item.is_array()) {
    if (item.size() < 2) return std::nan("");
    value = &item[1];
  } else if (item.is_object()) {
    for (const char* key :
         {"value", "count", "fraction", "density", "percent", "probability", "proportion",
          "frequency", "cumulative_count", "cumulative_proportion", "height"}) {
      if (const auto found = item.find(key); found != item.end()) value = &*found;
    }
  }
  return value->is_number() ? value->get<double>() : std::nan("");
}

// Which of the items stay: evenly spread, and the ends, the highest and the lowest.
std::vector<std::size_t> places_kept(const json& items, std::size_t most) {
  const std::size_t last = items.size() - 1;
  std::vector<std::size_t> kept{0, last};
  std::size_t low = items.size();
  std::size_t high = items.size();
  for (std::size_t i = 0; i <= last; ++i) {
    const double height = height_of(items[i]);
    if (std::isnan(height)) continue;
    if (low > last || height < height_of(items[low])) low = i;
    if (high > last || height > height_of(items[high])) high = i;
  }
  if (low <= last) kept.insert(kept.end(), {low, high});
  const std::size_t even = most > kept.size() ? most - kept.size() : 0;
  for (std::size_t i = 1; i <= even; ++i) kept.push_back(i * last / (even + 1));
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

bool thin(json& items, std::size_t most) {
  if (!items.is_array() || items.size() <= most) return false;
  json fewer = json::array();
  for (const std::size_t place : places_kept(items, most)) {
    fewer.push_back(std::move(items[place]));
  }
  items = std::move(fewer);
  return true;
}

bool thin_evenly(json& items, std::size_t every) {
  if (!items.is_array() || every < 2 || items.size() < 2) return false;
  json fewer = json::array();
  for (std::size_t i = 0; i < items.size(); i += every) fewer.push_back(std::move(items[i]));
  items = std::move(fewer);
  return true;
}

// A heatmap has its points in two directions: rows and columns are left out in step with their
// names, so that what stays is still a grid. A cell takes less than half the room of a point.
bool thin_grid(json& grid, std::size_t points_max) {
  const std::size_t most = points_max * 5 / 2;
  json& rows = grid["values"];
  if (!rows.is_array() || rows.empty()) return false;
  std::size_t width = 1;
  for (const json& row : rows) width = std::max(width, row.size());
  std::size_t every = 1;
  while ((rows.size() / every + 1) * (width / every + 1) > std::max<std::size_t>(most, 4)) {
    ++every;
  };
  if (every == 1) return false;
  thin_evenly(rows, every);
  for (json& row : rows) thin_evenly(row, every);
  for (const char* key : {"x", "y"}) {
    if (grid.contains(key)) thin_evenly(grid[key], every);
  }
  return true;
}

bool sample(json& chart, std::size_t most, int depth) {
  if (depth > kDepthMax || !chart.is_object() || !chart.contains("elements")) return false;
  json& elements = chart["elements"];
  const std::size_t all = elements.size();
  bool sampled = thin(elements, most);
  if (sampled && !chart.contains("elements_total")) chart["elements_total"] = all;
  if (!elements.is_array()) return sampled;
  for (json& element : elements) {
    if (!element.is_object()) continue;
    for (const char* key : {"points", "outliers"}) {
      if (element.contains(key)) sampled = thin(element[key], most) || sampled;
    }
    if (element.contains("values")) sampled = thin_grid(element, most) || sampled;
    if (!element.contains("charts") || !element["charts"].is_array()) continue;
    for (json& one : element["charts"]) sampled = sample(one, most, depth + 1) || sampled;
  }
  if (sampled) chart["sampled"] = true;
  return sampled;
}

}  // namespace

bool sample_chart(json& chart, std::size_t points_max) {
  return sample(chart, std::max<std::size_t>(points_max, 4), 0);
}

}  // namespace sandbox
