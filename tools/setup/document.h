// A client's configuration as text in which one entry is put without touching the rest: comments,
// order and spelling stay, so that taking it out again leaves the same bytes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace tools::setup {

enum class Format { kJson, kToml, kYaml };  // JSON as editors have it: comments, commas at the end

// Leads to a map below the root: its name in each map around it, the outermost first.
using Keys = std::vector<std::string>;

struct Insertion {
  std::size_t at = 0;  // byte of the text before which it goes
  std::string text;
};

// Returns the value of the text, an object; an empty text is an empty one. Scalars of YAML are
// strings. kInvalid says where and why it is none.
base::Result<nlohmann::json> parse_document(Format format, const std::string& text);

// Returns the value at `keys`, null where there is none.
nlohmann::json value_at(const nlohmann::json& document, const Keys& keys);

// Returns where `entry` goes so that it is the one called `name` in the map at `keys`, which may
// not be there yet. kUnsupported: not without writing other parts anew. REQUIRES: the text can be
// parsed, and has no such entry.
base::Result<Insertion> place_entry(Format format, const std::string& text, const Keys& keys,
                                    const std::string& name, const nlohmann::ordered_json& entry);

// Returns whether `after` is `before` without that entry and is the same in everything else. Maps
// that had nothing but it may be gone, or empty.
bool is_without(const nlohmann::json& after, const nlohmann::json& before, const Keys& keys,
                const std::string& name);

// The text without the entry, wherever a client has put it when it wrote its file anew.
// kUnsupported: the rest would change.
base::Result<std::string> without_entry(Format format, const std::string& text, const Keys& keys,
                                        const std::string& name);

}  // namespace tools::setup
