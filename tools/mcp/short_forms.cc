#include "tools/mcp/short_forms.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace tools {

using nlohmann::json;

namespace {

constexpr std::string_view kBlanks = " ";
// The members that elements with one value each have, in the order in which they are read best.
constexpr const char* kColumns[] = {"label",          "group",  "from",           "to",  "min",
                                    "first_quartile", "median", "third_quartile", "max", "fraction",
                                    "value",          "count",  "outliers"};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, size));
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::vector<std::string_view> cells_of(std::string_view line, std::string_view between) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t end = line.find(between);
    cells.push_back(trimmed(line.substr(0, end)));
    if (end == line.npos) return cells;
    line.remove_prefix(end + between.size());
  }
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words = cells_of(line, kBlanks);
  std::erase(words, "");
  return words;
}

std::string joined(const std::vector<std::string_view>& cells, char between) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += between;
    line += cells[i];
  }
  return line;
}

// The lines of a table, without what stands below it.
std::size_t rows_in(const std::vector<std::string_view>& lines) {
  std::size_t rows = 0;
  while (rows < lines.size() && !trimmed(lines[rows]).empty() && !lines[rows].starts_with('(')) {
    ++rows;
  }
  return rows;
}

// Whether its cells stand between bars, below names and a rule, as SQL has them.
bool is_ruled(const std::vector<std::string_view>& lines, std::size_t rows) {
  return rows > 1 && lines[1].find_first_not_of("-+") == std::string_view::npos;
}

std::optional<std::vector<std::string>> narrow_bars(const std::vector<std::string_view>& lines,
                                                    std::size_t rows) {
  constexpr std::string_view kBar = " | ";
  const std::size_t columns = cells_of(lines[0], kBar).size();
  std::vector<std::string> narrow;
  for (std::size_t i = 0; i < rows; ++i) {
    if (i == 1) continue;
    const auto cells = cells_of(lines[i], kBar);
    if (cells.size() != columns) return std::nullopt;
    const bool has_bar = std::any_of(cells.begin(), cells.end(), [](std::string_view cell) {
      return cell.find('|') != cell.npos;
    });
    if (has_bar) return std::nullopt;
    narrow.push_back(joined(cells, '|'));
  }
  return narrow;
}

// Cells between blanks, as pandas has them: none may be empty or have a blank in it. The names of
// columns have nothing above the index, and that of the index may stand below them.
std::optional<std::vector<std::string>> narrow_blanks(const std::vector<std::string_view>& lines,
                                                      std::size_t rows) {
  if (rows < 2) return std::nullopt;
  const std::size_t columns = words_of(lines[rows - 1]).size();
  const std::size_t named = words_of(lines[0]).size();
  const bool is_nameless = lines[0].starts_with(' ');
  if (columns < 2 || named + (is_nameless ? 1 : 0) != columns) return std::nullopt;
  std::vector<std::string> narrow;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto words = words_of(lines[i]);
    const bool is_name_of_index = i == 1 && rows > 2 && words.size() == 1;
    if (i > 0 && words.size() != columns && !is_name_of_index) return std::nullopt;
    narrow.push_back((i == 0 && is_nameless ? " " : "") + joined(words, ' '));
  }
  return narrow;
}

bool is_frame(std::string_view line) {
  return line.starts_with("  ") && !line.starts_with("   ") &&
         line.find(", line ") != std::string_view::npos &&
         line.find(", in ") != std::string_view::npos;
}

bool is_marks(std::string_view line) {
  return line.starts_with("    ") && line.find_first_not_of(" ^~") == std::string_view::npos &&
         line.find('^') != std::string_view::npos;
}

// The columns that all elements have; empty where they differ, or have anything else.
std::vector<std::string> columns_of(const json& elements) {
  std::vector<std::string> columns;
  if (!elements.is_array() || elements.size() < 2 || !elements[0].is_object()) return columns;
  for (const char* name : kColumns) {
    if (elements[0].contains(name)) columns.emplace_back(name);
  }
  const bool are_alike = std::all_of(elements.begin(), elements.end(), [&](const json& element) {
    return element.is_object() && element.size() == columns.size() &&
           std::all_of(columns.begin(), columns.end(), [&](const std::string& name) {
             return element.contains(name) && (element[name].is_primitive() || name == "outliers");
           });
  });
  if (!are_alike) columns.clear();
  return columns;
}

}  // namespace

std::string narrow_table(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  const std::size_t rows = rows_in(lines);
  if (!lines.empty() && lines.back().starts_with('[')) return std::string(text);
  const auto narrow = is_ruled(lines, rows) ? narrow_bars(lines, rows) : narrow_blanks(lines, rows);
  if (!narrow) return std::string(text);
  std::string result;
  for (const std::string& line : *narrow) result += line + "\n";
  for (std::size_t i = rows; i < lines.size(); ++i) {
    if (!lines[i].empty()) result += std::string(lines[i]) + "\n";
  }
  return result;
}

std::string short_traceback(std::string_view traceback) {
  constexpr std::string_view kHeading = "Traceback (most recent call last):";
  constexpr std::string_view kTopLevel = ", in <module>";
  std::string text;
  bool is_in_frame = false;
  for (std::string_view line : lines_of(traceback)) {
    if (line == kHeading || (is_in_frame && is_marks(line))) continue;
    if (is_frame(line)) {
      is_in_frame = true;
    } else if (!line.starts_with("    ")) {
      is_in_frame = false;
    }
    if (is_in_frame && line.starts_with("  cell ") && line.ends_with(kTopLevel)) {
      line.remove_suffix(kTopLevel.size());
    }
    text += std::string(line) + "\n";
  }
  return text;
}

json with_rows_of_elements(json chart) {
  if (!chart.is_object() || !chart.contains("elements")) return chart;
  json& elements = chart["elements"];
  if (!elements.is_array()) return chart;
  for (json& element : elements) {
    if (!element.is_object() || !element.contains("charts") || !element["charts"].is_array())
      continue;
    for (json& part : element["charts"]) part = with_rows_of_elements(std::move(part));
  }
  const std::vector<std::string> columns = columns_of(elements);
  if (columns.empty()) return chart;
  for (json& element : elements) {
    json row = json::array();
    for (const std::string& name : columns) row.push_back(std::move(element[name]));
    element = std::move(row);
  }
  chart["columns"] = columns;
  return chart;
}

}  // namespace tools
