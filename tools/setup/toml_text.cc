#include "tools/setup/toml_text.h"

#include <toml++/toml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "base/text.h"

namespace tools::setup {

using base::Error;
using nlohmann::ordered_json;

namespace {

using LineNumber = toml::source_index;  // from 1

std::string in_toml(const ordered_json& value) {
  // Strings are written as JSON's are.
  if (!value.is_object() && !value.is_array()) return value.dump();
  std::string text;
  for (const auto& [name, member] : value.items()) {
    const std::string key = value.is_object() ? ordered_json(name).dump() + " = " : "";
    base::append_part(text, key + in_toml(member));
  }
  return value.is_object() ? "{ " + text + " }" : "[" + text + "]";
}

// Adds the lines at which the table and those below it begin, as far as they have a head of their
// own.
void add_heads(const toml::table& table, std::set<LineNumber>& lines) {
  if (table.is_inline()) return;
  lines.insert(table.source().begin.line);
  for (const auto& [key, node] : table) {
    if (const toml::table* inner = node.as_table()) add_heads(*inner, lines);
    const toml::array* const list = node.as_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      if (const toml::table* inner = list->get(i)->as_table()) add_heads(*inner, lines);
    }
  }
}

const toml::table* table_at(const toml::table& root, const Keys& keys, const std::string& name) {
  const toml::table* map = &root;
  for (const std::string& key : keys) {
    map = map == nullptr ? nullptr : map->get_as<toml::table>(key);
  }
  return map == nullptr ? nullptr : map->get_as<toml::table>(name);
}

std::vector<std::string> toml_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

// Belongs to what comes after it.
bool is_remark(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  return first == std::string::npos || line[first] == '#';
}

}  // namespace

base::Result<nlohmann::json> parse_toml(const std::string& text) {
  try {
    const toml::table table = toml::parse(text);
    std::ostringstream printed;
    printed << toml::json_formatter{table};
    return nlohmann::json::parse(printed.str());
  } catch (const toml::parse_error& failure) {
    return base::error(Error::Kind::kInvalid, "line " +
                                                  std::to_string(failure.source().begin.line) +
                                                  ": " + std::string(failure.description()));
  } catch (const nlohmann::json::exception& failure) {
    return base::error(Error::Kind::kInvalid, failure.what());  // nan, inf
  }
}

Insertion place_in_toml(const std::string& text, const Keys& keys, const std::string& name,
                        const nlohmann::ordered_json& entry) {
  const std::string line_end = text.find("\r\n") != std::string::npos ? "\r\n" : "\n";
  std::string added;
  if (!text.empty() && !text.ends_with('\n')) added += line_end;
  if (!text.empty()) added += line_end;
  added += "[";
  for (const std::string& key : keys) added += key + ".";
  added += name + "]" + line_end;
  for (const auto& [key, value] : entry.items()) {
    added += key + " = " + in_toml(value) + line_end;
  }
  return {text.size(), added};
}

std::string without_in_toml(const std::string& text, const Keys& keys, const std::string& name) {
  const toml::table root = toml::parse(text);
  const toml::table* const entry = table_at(root, keys, name);
  if (entry == nullptr) return text;
  std::vector<std::string> lines = toml_lines(text);
  if (entry->is_inline()) {
    for (LineNumber line = entry->source().begin.line; line <= entry->source().end.line; ++line) {
      lines.at(line - 1).clear();
    }
  }
  std::set<LineNumber> all;
  std::set<LineNumber> its;
  add_heads(root, all);
  add_heads(*entry, its);
  for (const LineNumber head : its) {
    const auto next = all.upper_bound(head);
    LineNumber end = next == all.end() ? static_cast<LineNumber>(lines.size()) + 1 : *next;
    if (!its.contains(end)) {
      while (end > head + 1 && is_remark(lines.at(end - 2))) --end;
    }
    for (LineNumber line = head; line < end; ++line) lines.at(line - 1).clear();
  }
  std::string rest;
  for (const std::string& line : lines) rest += line;
  return rest;
}

}  // namespace tools::setup
