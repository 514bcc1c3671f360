#include "base/json.h"

#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace base {

Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits) {
  bool too_deep = false;
  std::size_t events = 0;
  const auto guard = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    too_deep = too_deep || depth > limits.depth_max;
    return !too_deep && ++events <= limits.events_max;
  };
  nlohmann::json value = nlohmann::json::parse(text, guard, /*allow_exceptions=*/false);
  if (too_deep) return error(Error::Kind::kInvalid, "JSON nested too deep");
  if (events > limits.events_max) return error(Error::Kind::kInvalid, "too large JSON");
  if (value.is_discarded()) return error(Error::Kind::kInvalid, "not JSON");
  return value;
}

std::string print_json(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const nlohmann::json* find_member(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto member = object.find(key);
  return member == object.end() ? nullptr : &*member;
}

std::string string_or(const nlohmann::json& object, const char* key, std::string fallback) {
  const nlohmann::json* member = find_member(object, key);
  return member != nullptr && member->is_string() ? member->get<std::string>()
                                                  : std::move(fallback);
}

std::optional<std::int64_t> find_integer(const nlohmann::json& object, const char* key) {
  const nlohmann::json* member = find_member(object, key);
  if (member == nullptr || !member->is_number_integer()) return std::nullopt;
  if (member->is_number_unsigned() &&
      member->get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return member->get<std::int64_t>();
}

std::int64_t integer_or(const nlohmann::json& object, const char* key, std::int64_t fallback) {
  return find_integer(object, key).value_or(fallback);
}

bool boolean_or(const nlohmann::json& object, const char* key, bool fallback) {
  const nlohmann::json* member = find_member(object, key);
  return member != nullptr && member->is_boolean() ? member->get<bool>() : fallback;
}

}  // namespace base
