#include "tools/setup/json_text.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace tools::setup {

using base::Error;
using nlohmann::ordered_json;

namespace {

constexpr const char* kBlanks = " \t\r\n";

std::size_t after_blanks(const std::string& text, std::size_t at) {
  return std::min(text.find_first_not_of(kBlanks, at), text.size());
}

// Behind the string that begins at `at`.
std::size_t after_string(const std::string& text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

// Behind the value that begins at `at`.
std::size_t after_value(const std::string& text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = after_string(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
    if (c == '{' || c == '[') ++depth;
    ++at;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return at;
}

struct Member {
  std::size_t key = std::string::npos;  // where its name begins; npos: there is none
  std::size_t value = std::string::npos;
};

// The last member of that name, in the object that begins at `at`.
Member find_member(const std::string& text, std::size_t at, const std::string& name) {
  Member found;
  at = after_blanks(text, at + 1);
  while (at < text.size() && text[at] == '"') {
    const std::size_t begin = at;
    const std::size_t end = after_string(text, at);
    const auto key = ordered_json::parse(text.substr(at, end - at), nullptr, false);
    at = after_blanks(text, after_blanks(text, end) + 1);  // the colon
    if (key.is_string() && key.get<std::string>() == name) found = {begin, at};
    at = after_blanks(text, after_value(text, at));
    if (at < text.size() && text[at] == ',') at = after_blanks(text, at + 1);
  }
  return found;
}

// Returns what one level is indented by, as the first line that is; two blanks where none is.
std::string indentation_of(const std::string& text) {
  for (std::size_t line = text.find('\n'); line != std::string::npos;
       line = text.find('\n', line + 1)) {
    const std::size_t begin = line + 1;
    const std::size_t end = std::min(text.find_first_not_of(" \t", begin), text.size());
    if (end > begin && end < text.size() && text[end] == '"')
      return text.substr(begin, end - begin);
  }
  return "  ";
}

std::string repeated(const std::string& unit, std::size_t count) {
  std::string all;
  while (count-- > 0) all += unit;
  return all;
}

// `value` with a line for each member; lists of words in one. `line` begins each of them but the
// first.
std::string printed(const ordered_json& value, const std::string& unit, const std::string& line) {
  if (value.is_array()) {
    std::string list;
    for (const ordered_json& one : value) base::append_part(list, one.dump());
    return "[" + list + "]";
  }
  if (!value.is_object() || value.empty()) return value.dump();
  std::string object = "{";
  for (const auto& [name, member] : value.items()) {
    object += (object.size() == 1 ? "" : ",") + line + unit + ordered_json(name).dump() + ": " +
              printed(member, unit, line + unit);
  }
  return object + line + "}";
}

}  // namespace

std::string strict_json(std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.replace(0, 3, "   ");
  std::size_t last = std::string::npos;  // the last that is neither blank nor a comment
  const auto blank = [&text](std::size_t from, std::size_t to) {
    for (; from < to; ++from) {
      if (text[from] != '\n' && text[from] != '\r') text[from] = ' ';
    }
  };
  for (std::size_t at = after_blanks(text, 0); at < text.size(); at = after_blanks(text, at)) {
    if (text.compare(at, 2, "//") == 0) {
      blank(at, std::min(text.find('\n', at), text.size()));
    } else if (text.compare(at, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", at + 2);
      if (end == std::string::npos) return text;  // the parser says so
      blank(at, end + 2);
    } else {
      const bool closes = text[at] == '}' || text[at] == ']';
      if (closes && last != std::string::npos && text[last] == ',') text[last] = ' ';
      last = at;
      at = text[at] == '"' ? after_string(text, at) : at + 1;
    }
  }
  return text;
}

base::Result<Insertion> place_in_json(const std::string& text, const Keys& keys,
                                      const std::string& name, const ordered_json& entry) {
  const std::string strict = strict_json(text);
  std::size_t object = after_blanks(strict, 0);
  const std::string line_end = text.find("\r\n") != std::string::npos ? "\r\n" : "\n";
  ordered_json member = {{name, entry}};
  if (object == strict.size()) {
    for (auto key = keys.rbegin(); key != keys.rend(); ++key) member = {{*key, member}};
    return Insertion{text.size(), printed(member, "  ", line_end) + line_end};
  }
  std::size_t depth = 0;
  for (; depth < keys.size(); ++depth) {
    const std::size_t inner = find_member(strict, object, keys[depth]).value;
    if (inner == std::string::npos) break;
    if (strict[inner] != '{') {
      return base::error(Error::Kind::kInvalid, keys[depth] + " is there and is no object");
    }
    object = inner;
  }
  for (std::size_t key = keys.size(); key > depth; --key) member = {{keys[key - 1], member}};
  const std::string unit = indentation_of(text);
  const std::string line = line_end + repeated(unit, depth + 1);
  // Without the braces around it.
  std::string added = line + ordered_json(member.begin().key()).dump() + ": " +
                      printed(member.begin().value(), unit, line);
  const std::size_t next = after_blanks(strict, object + 1);
  const bool same_line = text.substr(object + 1, next - object - 1).find('\n') == std::string::npos;
  if (strict[next] != '}') {
    added += same_line ? "," + line : ",";
  } else if (same_line) {
    added += line_end + repeated(unit, depth);
  }
  return Insertion{object + 1, added};
}

std::string without_in_json(const std::string& text, const Keys& keys, const std::string& name) {
  const std::string strict = strict_json(text);
  std::size_t object = after_blanks(strict, 0);
  for (const std::string& key : keys) {
    object = find_member(strict, object, key).value;
    if (object == std::string::npos || strict[object] != '{') return text;
  }
  const Member member = find_member(strict, object, name);
  if (member.key == std::string::npos) return text;
  std::size_t begin = strict.find_last_not_of(kBlanks, member.key - 1);  // a brace or a comma
  std::size_t end = after_value(strict, member.value);
  const std::size_t next = after_blanks(strict, end);
  if (strict[begin] != ',') ++begin;
  if (strict[begin] != ',' && next < strict.size() && strict[next] == ',') end = next + 1;
  std::string rest = text;
  return rest.erase(begin, end - begin);
}

}  // namespace tools::setup
