#include "tools/setup/yaml_text.h"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>

namespace tools::setup {

using base::Error;
using nlohmann::json;

namespace {

constexpr int kDepthMax = 64;

json value_of(const YAML::Node& node, int depth) {
  if (depth > kDepthMax) throw YAML::RepresentationException(node.Mark(), "nested too deeply");
  if (node.IsMap()) {
    json object = json::object();
    for (const auto& member : node) {
      object[member.first.as<std::string>()] = value_of(member.second, depth + 1);
    }
    return object;
  }
  if (node.IsSequence()) {
    json array = json::array();
    for (const auto& element : node) array.push_back(value_of(element, depth + 1));
    return array;
  }
  return node.IsScalar() ? json(node.Scalar()) : json();
}

std::size_t line_begin(const std::string& text, std::size_t at) {
  const std::size_t end = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  return end == std::string::npos ? 0 : end + 1;
}

}  // namespace

base::Result<json> parse_yaml(const std::string& text) {
  try {
    const auto documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      return base::error(Error::Kind::kInvalid, "it has several documents");
    }
    if (documents.empty() || documents[0].IsNull()) return json::object();
    return value_of(documents[0], 0);
  } catch (const YAML::Exception& failure) {
    return base::error(Error::Kind::kInvalid, failure.what());
  }
}

base::Result<Insertion> place_in_yaml(const std::string& text, const Keys& keys,
                                      const std::string& name,
                                      const nlohmann::ordered_json& entry) {
  if (keys.size() != 1) return base::error(Error::Kind::kInternal, "a map below another one");
  const std::string line_end = text.find("\r\n") != std::string::npos ? "\r\n" : "\n";
  const std::string member_text = name + ": " + entry.dump();
  const YAML::Node map = YAML::Load(text)[keys[0]];
  if (!map) {
    const std::string before = text.empty() || text.ends_with('\n') ? "" : line_end;
    return Insertion{text.size(),
                     before + keys[0] + ":" + line_end + "  " + member_text + line_end};
  }
  if (map.IsNull()) {
    // Behind the line that names it.
    for (const auto& member : YAML::Load(text)) {
      if (member.first.as<std::string>() != keys[0]) continue;
      const std::size_t end = text.find('\n', static_cast<std::size_t>(member.first.Mark().pos));
      const bool ends = end != std::string::npos;
      return Insertion{ends ? end + 1 : text.size(),
                       (ends ? "" : line_end) + "  " + member_text + line_end};
    }
  }
  if (map.IsMap() && map.Style() == YAML::EmitterStyle::Flow) {
    const auto brace = static_cast<std::size_t>(map.Mark().pos);
    return Insertion{brace + 1, member_text + (map.size() > 0 ? ", " : "")};
  }
  if (map.IsMap() && map.size() > 0) {
    // Before the first one, as far in as that is.
    const auto first = static_cast<std::size_t>(map.begin()->first.Mark().pos);
    const std::size_t line = line_begin(text, first);
    return Insertion{line, text.substr(line, first - line) + member_text + line_end};
  }
  return base::error(Error::Kind::kUnsupported,
                     keys[0] + " is there and is no map that could be added to");
}

std::string without_in_yaml(const std::string& text, const Keys& keys, const std::string& name) {
  const YAML::Node map = YAML::Load(text)[keys[0]];
  if (!map || !map.IsMap() || map.Style() == YAML::EmitterStyle::Flow) return text;
  for (const auto& member : map) {
    if (member.first.as<std::string>() != name) continue;
    const auto key = static_cast<std::size_t>(member.first.Mark().pos);
    const std::size_t begin = line_begin(text, key);
    std::size_t end = key;
    do {  // its own line, and all that are further in
      end = std::min(text.find('\n', end), text.size() - 1) + 1;
    } while (end < text.size() &&
             std::min(text.find_first_not_of(' ', end), text.size()) - end > key - begin);
    std::string rest = text;
    return rest.erase(begin, end - begin);
  }
  return text;
}

}  // namespace tools::setup
