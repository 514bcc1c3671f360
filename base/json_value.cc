#include "base/json_value.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace base {

using nlohmann::json;

JsonValue::JsonValue() noexcept = default;
JsonValue::~JsonValue() = default;
JsonValue::JsonValue(JsonValue&& other) noexcept = default;
JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;

JsonValue::JsonValue(const JsonValue& other)
    : value_(other.value_ == nullptr ? nullptr : std::make_unique<json>(*other.value_)) {}

JsonValue& JsonValue::operator=(const JsonValue& other) {
  if (this != &other) *this = JsonValue(other);
  return *this;
}

JsonValue::JsonValue(Owned, json& taken)
    : value_(taken.is_null() ? nullptr : std::make_unique<json>(std::move(taken))) {}

JsonValue JsonValue::array() { return json::array(); }
JsonValue JsonValue::object() { return json::object(); }

json& JsonValue::operator*() {
  if (value_ == nullptr) value_ = std::make_unique<json>();
  return *value_;
}

const json& JsonValue::operator*() const {
  static const json null;
  return value_ == nullptr ? null : *value_;
}

}  // namespace base
