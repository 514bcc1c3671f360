#include "tools/mcp/short_forms.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/utf8.h"

namespace tools {

using nlohmann::json;

namespace {

// The members that elements with one value each have, in the order in which they are read best.
constexpr const char* kColumns[] = {
    "label",          "group", "from",     "to",    "min",   "first_quartile", "median",
    "third_quartile", "max",   "fraction", "value", "start", "count",          "outliers"};

// A part of a line, and where it stands: in characters, as those count who have aligned it.
struct Word {
  std::string_view text;
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return !base::continues_character(byte); }));
}

// The byte at which this character of the line begins, or the line's end.
std::size_t byte_of(std::string_view line, std::size_t character) {
  std::size_t at = 0;
  for (; at < line.size(); ++at) {
    if (base::continues_character(line[at])) continue;
    if (character == 0) return at;
    --character;
  }
  return at;
}

std::string_view part_of(std::string_view line, std::size_t begin, std::size_t size) {
  const std::size_t first = byte_of(line, begin);
  return line.substr(first, byte_of(line.substr(first), size));
}

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  std::size_t character = 0;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (end == at) {
      ++at;
      ++character;
      continue;
    }
    const std::string_view text = line.substr(at, end - at);
    words.push_back({text, character, character + characters_of(text)});
    character = words.back().end;
    at = end;
  }
  return words;
}

// Returns whether a character of the text may be two columns wide: then nobody knows how it was
// counted.
bool has_wide(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && base::continues_character(text[end])) ++end;
    const std::string_view character = text.substr(at, end - at);
    const bool is_hangul = character >= "\u1100" && character <= "\u115f";
    if (is_hangul || character >= "\u2e80") return true;
    at = end;
  }
  return false;
}

template <typename Cells, typename TextOf>
std::string joined(const Cells& cells, char between, const TextOf& text_of) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += between;
    line += text_of(cells[i]);
  }
  return line;
}

// Returns whether the table's cells stand between bars, below names and a rule, as SQL has them.
bool is_ruled(const std::vector<std::string_view>& lines) {
  return lines.size() > 1 && !lines[1].empty() &&
         lines[1].find_first_not_of("-+") == std::string_view::npos;
}

// Returns whether the last line says how many rows there are, in brackets: that is no row itself.
bool has_footer(const std::vector<std::string_view>& lines) {
  const std::string_view last = lines.back();
  return lines.size() > 2 && last.starts_with('(') && last.ends_with(')') &&
         last.find(" row") != last.npos;
}

constexpr std::string_view kBar = " | ";

// A column of a ruled table, in characters.
struct Column {
  std::size_t begin = 0;
  std::size_t size = 0;
  bool is_right = false;  // aligned
};

std::vector<Column> columns_below(std::string_view rule) {
  constexpr std::string_view kCross = "-+-";
  std::vector<Column> columns;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(rule.find(kCross, at), rule.size());
    columns.push_back({at, end - at});
    if (end == rule.size()) return columns;
    at = end + kCross.size();
  }
}

// The cells of a row with the blanks that align them; nothing where a bar may be one of a cell's
// own. A row has no blanks at its end.
std::optional<std::vector<std::string_view>> ruled_cells(std::string_view line,
                                                         const std::vector<Column>& columns) {
  std::vector<std::string_view> cells;
  for (const Column& column : columns) {
    if (column.begin > 0) {
      std::string bar(part_of(line, column.begin - kBar.size(), kBar.size()));
      if (bar.size() < kBar.size()) bar += ' ';
      if (bar != kBar) return std::nullopt;
    }
    cells.push_back(part_of(line, column.begin, column.size));
    if (cells.back().find('|') != std::string_view::npos) return std::nullopt;
  }
  if (characters_of(line) > columns.back().begin + columns.back().size) return std::nullopt;
  return cells;
}

bool is_number(std::string_view cell) {
  if (cell == "NULL" || cell == "true" || cell == "false" || cell == "nan" || cell == "inf") {
    return true;
  }
  if (cell.starts_with('-')) cell.remove_prefix(1);
  return cell == "inf" || cell.find_first_of("0123456789") == 0;
}

// Returns whether the blanks before the column's cells align them. Those of any other column may be
// the text's own.
bool is_right_aligned(const std::vector<std::vector<std::string_view>>& rows, std::size_t column,
                      std::size_t size) {
  const auto ends_there = [&](const auto& row) {
    return characters_of(row[column]) == size && !row[column].ends_with(' ');
  };
  return std::all_of(rows.begin(), rows.end(), ends_there) &&
         std::all_of(rows.begin() + 1, rows.end(),
                     [&](const auto& row) { return is_number(base::trim(row[column], " ")); });
}

std::string_view without_padding(std::string_view cell, bool is_right) {
  if (is_right) return base::trim(cell, " ");
  return cell.substr(0, cell.find_last_not_of(' ') + 1);
}

std::optional<std::string> narrow_bars(const std::vector<std::string_view>& lines) {
  std::vector<Column> columns = columns_below(lines[1]);
  std::vector<std::vector<std::string_view>> rows;
  const std::size_t end = lines.size() - (has_footer(lines) ? 1 : 0);
  for (std::size_t i = 0; i < end; ++i) {
    if (i == 1) continue;
    auto cells = ruled_cells(lines[i], columns);
    if (!cells) return std::nullopt;
    rows.push_back(std::move(*cells));
  }
  for (std::size_t k = 0; k < columns.size(); ++k) {
    columns[k].is_right = is_right_aligned(rows, k, columns[k].size);
  }
  std::string narrow;
  for (auto& row : rows) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      row[k] = without_padding(row[k], columns[k].is_right);
    }
    narrow += joined(row, '|', [](std::string_view cell) { return cell; }) + "\n";
  }
  if (end < lines.size()) narrow += std::string(lines.back()) + "\n";
  return narrow;
}

// Returns whether each cell ends below the end of its column's name, as pandas aligns both. One
// blank between two words of a row may be in a cell, and between two of the names in a name: only
// where one of both has more do two columns stand there.
bool are_below(const std::vector<Word>& cells, const std::vector<Word>& names) {
  if (cells.size() != names.size() || cells[0].begin != 0) return false;
  for (std::size_t k = 1; k < cells.size(); ++k) {
    const std::size_t between = cells[k].begin - cells[k - 1].end;
    const std::size_t above = names[k].begin - names[k - 1].end;
    if (cells[k].end != names[k].end || std::max(between, above) < 2) return false;
  }
  return true;
}

// Cells between blanks, as pandas has them: none may be empty or have a blank in it. The names of
// columns have nothing above the index, and that of the index may stand below them.
std::optional<std::string> narrow_blanks(const std::vector<std::string_view>& lines) {
  if (lines.size() < 2 || std::any_of(lines.begin(), lines.end(), has_wide)) return std::nullopt;
  std::vector<Word> names = words_of(lines[0]);
  if (lines[0].starts_with(' ')) names.insert(names.begin(), Word{});
  if (names.size() < 2) return std::nullopt;
  std::string narrow;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto words = i == 0 ? names : words_of(lines[i]);
    const bool is_name_of_index =
        i == 1 && lines.size() > 2 && words.size() == 1 && words[0].begin == 0;
    if (i > 0 && !is_name_of_index && !are_below(words, names)) return std::nullopt;
    narrow += joined(words, ' ', [](const Word& word) { return word.text; }) + "\n";
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
  const std::vector<std::string_view> lines = base::split_at_ends(text);
  const auto narrow = is_ruled(lines) ? narrow_bars(lines) : narrow_blanks(lines);
  return narrow.value_or(std::string(text));
}

bool is_whole_table(std::string_view text) {
  for (const char* part : {"..", "shown", "\u2026"}) {
    if (text.find(part) != text.npos) return false;
  }
  const std::vector<std::string_view> lines = base::split_at_ends(text);
  if (is_ruled(lines)) return has_footer(lines);
  const auto end = std::find(lines.begin(), lines.end(), "");
  const bool has_more =
      lines.end() - end > 2 || (end != lines.end() && !lines.back().starts_with('['));
  if (end - lines.begin() < 2 || has_more) return false;
  return std::all_of(lines.begin(), end, [&](std::string_view line) {
    return characters_of(line) == characters_of(lines.front());
  });
}

std::string short_traceback(std::string_view traceback, std::string_view said) {
  constexpr std::string_view kHeading = "Traceback (most recent call last):";
  constexpr std::string_view kTopLevel = ", in <module>";
  const std::size_t at = traceback.rfind(said);
  if (said.empty() || at == traceback.npos) return std::string(traceback);
  const std::size_t end = traceback.substr(0, at).rfind('\n') + 1;  // 0 where there is none
  std::vector<std::string_view> kept;
  std::vector<std::size_t> marks;  // in `kept`, of the frames since the last line that is of none
  bool is_in_frame = false;
  std::string_view before;
  for (std::string_view line : base::split_at_ends(traceback.substr(0, end))) {
    const bool begins = before.empty() && line == kHeading;
    before = line;
    if (begins) continue;
    if (is_frame(line)) {
      is_in_frame = true;
      for (; !marks.empty(); marks.pop_back()) {
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(marks.back()));
      }
    } else if (!line.starts_with("    ")) {
      is_in_frame = false;
    }
    if (is_in_frame && is_marks(line)) marks.push_back(kept.size());
    if (!line.starts_with("  ")) marks.clear();
    if (is_in_frame && line.starts_with("  cell ") && line.ends_with(kTopLevel)) {
      line.remove_suffix(kTopLevel.size());
    }
    kept.push_back(line);
  }
  std::string text;
  for (const std::string_view line : kept) text += std::string(line) + "\n";
  return text + std::string(traceback.substr(end));
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
