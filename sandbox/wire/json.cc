#include "sandbox/wire/json.h"

#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace sandbox::wire {
namespace {

const nlohmann::json* find(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto member = object.find(key);
  return member == object.end() ? nullptr : &*member;
}

}  // namespace

base::Result<nlohmann::json> parse_json(std::string_view text, int depth_max) {
  bool too_deep = false;
  std::size_t events = 0;
  const auto guard = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    too_deep = too_deep || depth > depth_max;
    return !too_deep && ++events <= kJsonEventsMax;
  };
  nlohmann::json value = nlohmann::json::parse(text, guard, /*allow_exceptions=*/false);
  if (too_deep) return base::error(base::Error::Kind::kInvalid, "JSON nested too deep");
  if (events > kJsonEventsMax) return base::error(base::Error::Kind::kInvalid, "too large JSON");
  if (value.is_discarded()) return base::error(base::Error::Kind::kInvalid, "not JSON");
  return value;
}

std::string print_json(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string string_or(const nlohmann::json& object, const char* key, std::string fallback) {
  const nlohmann::json* member = find(object, key);
  return member != nullptr && member->is_string() ? member->get<std::string>()
                                                  : std::move(fallback);
}

std::optional<std::int64_t> find_integer(const nlohmann::json& object, const char* key) {
  const nlohmann::json* member = find(object, key);
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
  const nlohmann::json* member = find(object, key);
  return member != nullptr && member->is_boolean() ? member->get<bool>() : fallback;
}

}  // namespace sandbox::wire
