#include "tools/setup/document.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json.h"
#include "tools/setup/json_text.h"
#include "tools/setup/toml_text.h"
#include "tools/setup/yaml_text.h"

namespace tools::setup {

using base::Error;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

base::Result<json> parse_json(const std::string& text) {
  const std::string strict = strict_json(text);
  if (is_blank(strict)) return json::object();
  auto document = base::parse_json(strict);
  if (document.ok()) return document;
  try {
    if (json::parse(strict).is_discarded()) return document;
  } catch (const json::exception& failure) {
    // Where it is, behind what the library calls it.
    const std::string_view what = failure.what();
    return base::error(Error::Kind::kInvalid,
                       std::string(what.substr(std::min(what.find("] ") + 2, what.size()))));
  }
  return document;
}

base::Result<json> parse(Format format, const std::string& text) {
  switch (format) {
    case Format::kJson:
      return parse_json(text);
    case Format::kToml:
      return parse_toml(text);
    case Format::kYaml:
      return parse_yaml(text);
  }
  return json();
}

base::Result<Insertion> place(Format format, const std::string& text, const Keys& keys,
                              const std::string& name, const ordered_json& entry) {
  switch (format) {
    case Format::kJson:
      return place_in_json(text, keys, name, entry);
    case Format::kToml:
      return place_in_toml(text, keys, name, entry);
    case Format::kYaml:
      return place_in_yaml(text, keys, name, entry);
  }
  return Insertion{};
}

}  // namespace

base::Result<json> parse_document(Format format, const std::string& text) {
  json document = TRY(parse(format, text));
  if (!document.is_object()) {
    return base::error(Error::Kind::kInvalid, "it is no map of names and values");
  }
  return document;
}

json value_at(const json& document, const Keys& keys) {
  const json* value = &document;
  for (const std::string& key : keys) {
    if (!value->is_object() || !value->contains(key)) return json();
    value = &value->at(key);
  }
  return *value;
}

bool is_without(const json& after, const json& before, const Keys& keys, const std::string& name) {
  json wanted = before;
  json* map = &wanted;
  for (const std::string& key : keys) {
    if (!map->is_object() || !map->contains(key)) return after == before;
    map = &(*map)[key];
  }
  if (map->is_object()) map->erase(name);
  for (std::size_t depth = keys.size(); after != wanted; --depth) {
    if (depth == 0) return false;
    json* parent = &wanted;
    for (std::size_t i = 0; i + 1 < depth; ++i) parent = &(*parent)[keys[i]];
    json& emptied = (*parent)[keys[depth - 1]];
    if (!emptied.is_object() || !emptied.empty()) return false;
    emptied = nullptr;  // a map without its last entry is none in YAML
    if (after == wanted) return true;
    parent->erase(keys[depth - 1]);
  }
  return true;
}

base::Result<std::string> without_entry(Format format, const std::string& text, const Keys& keys,
                                        const std::string& name) {
  const json before = TRY(parse_document(format, text));
  std::string rest;
  if (format == Format::kJson) rest = without_in_json(text, keys, name);
  if (format == Format::kToml) rest = without_in_toml(text, keys, name);
  if (format == Format::kYaml) rest = without_in_yaml(text, keys, name);
  const auto left = parse_document(format, rest);
  if (!left.ok() || !is_without(left.value(), before, keys, name)) {
    return base::error(Error::Kind::kUnsupported,
                       "it cannot be taken out without changing the rest");
  }
  return rest;
}

base::Result<Insertion> place_entry(Format format, const std::string& text, const Keys& keys,
                                    const std::string& name, const ordered_json& entry) {
  const json before = TRY(parse_document(format, text));
  const Insertion insertion = TRY(place(format, text, keys, name, entry));
  std::string changed = text;
  changed.insert(insertion.at, insertion.text);
  // A parser has the last word: whatever the text is like, the entry is there and the rest is as it
  // was.
  const auto after = parse_document(format, changed);
  Keys whole = keys;
  whole.push_back(name);
  if (!after.ok() || value_at(after.value(), whole).is_null() ||
      !is_without(before, after.value(), keys, name)) {
    return base::error(
        Error::Kind::kUnsupported,
        "it is written in a way in which nothing can be added without changing the rest");
  }
  return insertion;
}

}  // namespace tools::setup
