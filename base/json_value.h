// JSON that a header may hold by value without including all of json.hpp, which takes longer to
// compile than most of our own code. Whoever looks inside includes it.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>

#include <nlohmann/json_fwd.hpp>

namespace base {

// Owns a value, null at first, and copies it when copied. No more thread-safe than the value.
class JsonValue {
 public:
  JsonValue() noexcept;
  // Takes an nlohmann::json alone, nothing that converts to one: braces would mean something else
  // here than they mean to nlohmann::json.
  // NOLINTNEXTLINE(google-explicit-constructor): assigning JSON is the point of the type.
  JsonValue(std::same_as<nlohmann::json> auto value) : JsonValue(Owned{}, value) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  JsonValue(std::nullptr_t) noexcept : JsonValue() {}
  ~JsonValue();
  JsonValue(const JsonValue& other);
  JsonValue& operator=(const JsonValue& other);
  // `other` is null then.
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(JsonValue&& other) noexcept;

  static JsonValue array();
  static JsonValue object();

  // std::move(*value) moves the JSON out.
  nlohmann::json& operator*();
  const nlohmann::json& operator*() const;
  nlohmann::json* operator->() { return &**this; }
  const nlohmann::json* operator->() const { return &**this; }
  // Returns what nlohmann::json gives for a name or an index.
  auto& operator[](const auto& key) { return (**this)[key]; }
  const auto& operator[](const auto& key) const { return (**this)[key]; }

  // NOLINTNEXTLINE(google-explicit-constructor): so is reading it.
  operator const nlohmann::json&() const& { return **this; }
  // Taking JSON out of what goes away would copy it.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator const nlohmann::json&() const&& = delete;

 private:
  struct Owned {};
  JsonValue(Owned, nlohmann::json& taken);

  std::unique_ptr<nlohmann::json> value_;  // none: null, which most members of a message are
};

}  // namespace base
