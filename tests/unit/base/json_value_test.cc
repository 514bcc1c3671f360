// JSON behind a pointer: what is copied, what is moved, what is null.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_value.h"

namespace {

using base::JsonValue;
using nlohmann::json;

TEST(JsonValue, IsNullUntilItIsGivenSomething) {
  const JsonValue empty;
  EXPECT_TRUE(empty->is_null());
  EXPECT_TRUE(JsonValue(json())->is_null());
  JsonValue value = nullptr;
  EXPECT_TRUE((*value).is_null());
  value["a"] = 1;
  EXPECT_EQ(*value, json({{"a", 1}}));
  EXPECT_EQ(*JsonValue::array(), json::array());
  EXPECT_EQ(*JsonValue::object(), json::object());
}

TEST(JsonValue, ACopyIsAnotherValue) {
  JsonValue one = json{{"a", 1}};
  JsonValue other = one;
  other["a"] = 2;
  EXPECT_EQ(one["a"], 1);
  one = other;
  other["a"] = 3;
  EXPECT_EQ(one["a"], 2);
  const JsonValue& same = one;
  one = same;
  EXPECT_EQ(one["a"], 2);
}

TEST(JsonValue, MovingCopiesNoText) {
  json text = std::string(1000, 'x');
  const char* bytes = text.get_ref<const std::string&>().data();
  JsonValue value = std::move(text);
  JsonValue moved = std::move(value);
  EXPECT_TRUE(value->is_null());  // NOLINT(bugprone-use-after-move): what is promised
  const json out = std::move(*moved);
  EXPECT_EQ(out.get_ref<const std::string&>().data(), bytes);
  static_assert(std::is_nothrow_move_constructible_v<JsonValue>);
  static_assert(std::is_nothrow_move_assignable_v<JsonValue>);
}

// Each would copy, or mean something else, where nobody sees it.
TEST(JsonValue, IsNotTakenByMistake) {
  static_assert(std::is_convertible_v<const JsonValue&, const json&>);
  static_assert(!std::is_convertible_v<JsonValue&&, const json&>);
  static_assert(!std::is_convertible_v<const char*, JsonValue>);
  static_assert(!std::is_convertible_v<std::initializer_list<json>, JsonValue>);
}

}  // namespace
