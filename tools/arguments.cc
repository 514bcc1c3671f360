#include "tools/arguments.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/shortened_text.h"
#include "base/text.h"
#include "mcp/half_characters.h"

namespace tools {

using base::Error;
using nlohmann::json;
using Type = Argument::Type;

namespace {

const char* type_name(Type type) {
  switch (type) {
    case Type::kString:
      return "string";
    case Type::kInteger:
      return "integer";
    case Type::kBoolean:
      return "boolean";
    case Type::kStringList:
      return "array";
    case Type::kObject:
    case Type::kStringMap:
      return "object";
  }
  return "";
}

base::Status check_string(const Argument& row, const std::string& value) {
  if (!row.values.empty() && !base::contains(row.values, value)) {
    return base::invalid(row.name + " must be one of: " + base::join(row.values));
  }
  if (row.most && value.size() > static_cast<std::size_t>(*row.most)) {
    return base::invalid(row.name + " is " + std::to_string(value.size()) + " bytes, at most " +
                         std::to_string(*row.most) + " are allowed");
  }
  if (row.required && row.least && value.size() < static_cast<std::size_t>(*row.least)) {
    return base::invalid(row.name + " must not be empty");
  }
  return base::done();
}

base::Status check_integer(const Argument& row, const json& value) {
  const auto least = row.least.value_or(0);
  const auto most = row.most.value_or(std::numeric_limits<std::int64_t>::max());
  const Error wrong =
      base::invalid(row.name + " must be a whole number from " + std::to_string(least) +
                    (row.most ? " to " + std::to_string(most) : " up"));
  if (!value.is_number()) return wrong;
  // JSON writers of some languages print 5 as 5.0.
  const auto real = value.get<double>();
  if (real != static_cast<double>(static_cast<std::int64_t>(std::clamp(real, -9.0e18, 9.0e18)))) {
    return wrong;
  }
  const auto number = static_cast<std::int64_t>(std::clamp(real, -9.0e18, 9.0e18));
  if (number < least || number > most) return wrong;
  return base::done();
}

base::Status check_strings(const Argument& row, const json& value) {
  if (row.most && value.size() > static_cast<std::size_t>(*row.most)) {
    return base::invalid(row.name + " has " + std::to_string(value.size()) + " entries, at most " +
                         std::to_string(*row.most) + " are allowed");
  }
  for (const auto& [key, entry] : value.items()) {
    if (!entry.is_string()) return base::invalid(row.name + " must hold strings only");
  }
  return base::done();
}

base::Status check_one(const Argument& row, const json& value) {
  const Error wrong_type = base::invalid(row.name + " must be of type " + type_name(row.type));
  switch (row.type) {
    case Type::kString:
      if (!value.is_string()) return wrong_type;
      return check_string(row, value.get_ref<const std::string&>());
    case Type::kInteger:
      return check_integer(row, value);
    case Type::kBoolean:
      if (!value.is_boolean()) return wrong_type;
      return base::done();
    case Type::kObject:
      if (!value.is_object()) return wrong_type;
      return base::done();
    case Type::kStringList:
      if (!value.is_array()) return wrong_type;
      return check_strings(row, value);
    case Type::kStringMap:
      if (!value.is_object()) return wrong_type;
      return check_strings(row, value);
  }
  return wrong_type;
}

// Puts U+FFFD in place of half a character where the argument is content. A name with it would be
// another one.
base::Status replace_halves(const Argument& row, json& value) {
  if (row.is_content && value.is_string()) {
    value = mcp::with_replaced_halves(value.get_ref<const std::string&>());
  } else if (row.is_content && value.is_structured()) {
    for (json& entry : value) {
      if (entry.is_string()) entry = mcp::with_replaced_halves(entry.get_ref<const std::string&>());
    }
  }
  if (!mcp::has_half(value)) return base::done();
  return half_in_name(row.name + (value.is_object() ? ": a name in it" : ""));
}

// Control characters are bytes below the blank, and DEL.
bool is_variable_name(const std::string& name) {
  return !name.empty() && name.size() <= kVariableNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char character) {
           const auto byte = static_cast<unsigned char>(character);
           return byte > ' ' && byte != 0x7f && byte != '=';
         });
}

}  // namespace

json schema_of(const std::vector<Argument>& table) {
  json properties = json::object();
  json required = json::array();
  for (const Argument& row : table) {
    json property = {{"type", type_name(row.type)}};
    if (!row.description.empty()) property["description"] = row.description;
    if (!row.values.empty()) property["enum"] = row.values;
    if (row.type == Type::kInteger) {
      if (row.least) property["minimum"] = *row.least;
      if (row.most) property["maximum"] = *row.most;
    }
    if (row.type == Type::kStringList) property["items"] = {{"type", "string"}};
    if (row.type == Type::kStringMap) property["additionalProperties"] = {{"type", "string"}};
    properties[row.name] = std::move(property);
    if (row.required) required.push_back(row.name);
  }
  json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

base::Result<Arguments> check_arguments(const std::vector<Argument>& table, const json& given) {
  json values = json::object();
  std::vector<std::string> with_halves;
  if (!given.is_null() && !given.is_object()) return base::invalid("arguments must be an object");
  for (const auto& [name, value] : given.items()) {
    const auto row = std::find_if(table.begin(), table.end(),
                                  [&key = name](const Argument& r) { return r.name == key; });
    if (row == table.end()) {
      std::vector<std::string> names;
      for (const Argument& r : table) names.push_back(r.name);
      return base::invalid("unknown argument \"" + base::echoed(name) +
                           "\"; this tool takes: " + base::join(names));
    }
    if (value.is_null()) continue;
    json taken = value;
    if (mcp::has_half(taken)) {
      TRY(replace_halves(*row, taken));
      with_halves.push_back(name);
    }
    TRY(check_one(*row, taken));
    values[name] = std::move(taken);
  }
  for (const Argument& row : table) {
    if (row.required && !values.contains(row.name)) {
      return base::invalid("missing argument " + row.name + " (" + type_name(row.type) + ")");
    }
  }
  return Arguments(std::move(values), std::move(with_halves));
}

base::Error half_in_name(const std::string& what) {
  return base::invalid(
      what +
      " has half a character (a lone surrogate, such as \\ud83d), which no name can "
      "have: send the whole character");
}

base::Status check_environment(const std::map<std::string, std::string>& env) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : env) {
    const std::string shown = "\"" + base::echoed(name) + "\"";
    if (!is_variable_name(name)) {
      return base::invalid("env: " + shown + " is no name of a variable: it has 1 to " +
                           std::to_string(kVariableNameBytesMax) +
                           " bytes, and no '=', white space or control characters");
    }
    if (value.find('\0') != std::string::npos) {
      return base::invalid("env: the value of " + shown + " holds NUL, which no variable can");
    }
    bytes += name.size() + 1 + value.size() + 1;
  }
  if (bytes <= kEnvironmentBytesMax) return base::done();
  return base::invalid(
      "env has " + std::to_string(bytes) + " bytes, at most " +
      std::to_string(kEnvironmentBytesMax) +
      " are allowed, NAME=value and a NUL for each: put what is large into a file with "
      "write_file, and its path into the variable");
}

bool Arguments::has(const char* name) const { return values_->contains(name); }

std::string Arguments::text(const char* name, const std::string& fallback) const {
  return has(name) ? values_[name].get<std::string>() : fallback;
}

std::optional<std::int64_t> Arguments::find_integer(const char* name) const {
  if (!has(name)) return std::nullopt;
  const json& value = values_[name];
  return value.is_number_integer() ? value.get<std::int64_t>()
                                   : static_cast<std::int64_t>(value.get<double>());
}

std::int64_t Arguments::integer(const char* name, std::int64_t fallback) const {
  return find_integer(name).value_or(fallback);
}

bool Arguments::boolean(const char* name, bool fallback) const {
  return has(name) ? values_[name].get<bool>() : fallback;
}

std::vector<std::string> Arguments::list(const char* name) const {
  return has(name) ? values_[name].get<std::vector<std::string>>() : std::vector<std::string>();
}

std::map<std::string, std::string> Arguments::map(const char* name) const {
  if (!has(name)) return {};
  return values_[name].get<std::map<std::string, std::string>>();
}

json Arguments::object(const char* name) const { return has(name) ? values_[name] : json(); }

std::string Arguments::told_of_halves() const {
  if (with_halves_.empty()) return "";
  return base::join(with_halves_) + (with_halves_.size() == 1 ? " has" : " have") +
         " U+FFFD in place of half a character (a lone surrogate)";
}

}  // namespace tools
