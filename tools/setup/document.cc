#include "tools/setup/document.h"

#include <nlohmann/json.hpp>

#include "sandbox/wire/json.h"
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
  return sandbox::wire::parse_json(strict);
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

// The document without the entry, and without the maps that are only there for it.
json without(json document, const json& before, const Keys& keys, const std::string& name) {
  json* map = &document;
  for (const std::string& key : keys) {
    if (!map->is_object() || !map->contains(key)) return document;
    map = &(*map)[key];
  }
  if (map->is_object()) map->erase(name);
  for (std::size_t depth = keys.size(); depth > 0; --depth) {
    const Keys place(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(depth));
    const json was = value_at(before, place);
    if (!was.is_null()) break;
    json* parent = &document;
    for (std::size_t i = 0; i + 1 < depth; ++i) parent = &(*parent)[keys[i]];
    parent->erase(keys[depth - 1]);
  }
  return document;
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

base::Result<std::string> without_entry(Format format, const std::string& text, const Keys& keys,
                                        const std::string& name) {
  json wanted = TRY(parse_document(format, text));
  std::string rest;
  if (format == Format::kJson) rest = without_in_json(text, keys, name);
  if (format == Format::kYaml) rest = without_in_yaml(text, keys, name);
  json* map = &wanted;
  for (const std::string& key : keys) map = &(*map)[key];
  if (map->is_object()) map->erase(name);
  const auto left = parse_document(format, rest);
  json emptied = wanted;  // a map without its last entry is none in YAML
  if (map->is_object() && map->empty()) {
    json* last = &emptied;
    for (const std::string& key : keys) last = &(*last)[key];
    *last = nullptr;
  }
  if (rest.empty() || !left.ok() || (left.value() != wanted && left.value() != emptied)) {
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
      without(after.value(), before, keys, name) != before) {
    return base::error(
        Error::Kind::kUnsupported,
        "it is written in a way in which nothing can be added without changing the rest");
  }
  return insertion;
}

}  // namespace tools::setup
