// Reading JSON that may be hostile, and writing JSON that may hold bytes which are no UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace base {

struct JsonLimits {
  int depth_max = 64;
  // Values, keys and ends of arrays and objects: small ones cost many times their size in memory.
  std::size_t events_max = 1'000'000;
};

// Returns kInvalid when it is not JSON, or beyond the limits.
Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits = {});

// Replaces what is not UTF-8; never throws.
std::string print_json(const nlohmann::json& value);

// Returns the member of an object; null where there is none, or `object` is no object.
const nlohmann::json* find_member(const nlohmann::json& object, const char* key);

// Returns the member of an object when it is there and of that type; never throws.
std::string string_or(const nlohmann::json& object, const char* key, std::string fallback = "");
std::int64_t integer_or(const nlohmann::json& object, const char* key, std::int64_t fallback);
bool boolean_or(const nlohmann::json& object, const char* key, bool fallback);
std::optional<std::int64_t> find_integer(const nlohmann::json& object, const char* key);

}  // namespace base
