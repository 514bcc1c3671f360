// JSON that may be hostile.
#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace {

using namespace base;

constexpr int kDepthMax = JsonLimits{}.depth_max;
constexpr std::size_t kEventsMax = JsonLimits{}.events_max;

TEST(Json, DepthIsBounded) {
  EXPECT_TRUE(parse_json(std::string(kDepthMax, '[') + std::string(kDepthMax, ']')).ok());
  EXPECT_FALSE(parse_json(std::string(200'000, '[')).ok());
  const std::string deep = std::string(kDepthMax + 2, '[') + std::string(kDepthMax + 2, ']');
  EXPECT_FALSE(parse_json(deep).ok());
}

TEST(Json, ManySmallValuesAreRefused) {
  std::string text = "[0";
  for (std::size_t i = 0; i < kEventsMax; ++i) text += ",0";
  EXPECT_EQ(parse_json(text + "]").error().kind, base::Error::Kind::kInvalid);
  text.resize(2 * (kEventsMax / 2));  // half as many, whole
  EXPECT_TRUE(parse_json(text + "]").ok());
}

TEST(Json, GarbageIsAnError) {
  for (const char* text : {"", "{", "nul", "{\"a\":}", "\xff\xfe", "[1,]", "{} {}"}) {
    EXPECT_FALSE(parse_json(text).ok()) << text;
  }
}

TEST(Json, PrintingReplacesWhatIsNotUtf8) {
  EXPECT_NE(print_json({{"a", "\xff"}}).find("\xef\xbf\xbd"), std::string::npos);
}

TEST(Json, ReadersNeverThrow) {
  const auto value =
      parse_json(R"({"s":1,"n":"x","big":18446744073709551615,"f":1.5,"b":1})").value();
  EXPECT_EQ(string_or(value, "s", "d"), "d");
  EXPECT_EQ(integer_or(value, "n", 7), 7);
  EXPECT_FALSE(find_integer(value, "big"));
  EXPECT_FALSE(find_integer(value, "f"));
  EXPECT_TRUE(boolean_or(value, "b", true));
  EXPECT_EQ(string_or(nlohmann::json::array(), "s", "d"), "d");
  EXPECT_EQ(string_or(nlohmann::json(), "s", "d"), "d");
  EXPECT_EQ(*find_member(value, "s"), 1);
  EXPECT_EQ(find_member(value, "none"), nullptr);
  EXPECT_EQ(find_member(nlohmann::json::array(), "s"), nullptr);
}

TEST(Json, LimitsAreTheCallers) {
  EXPECT_TRUE(parse_json("[[0]]", {.depth_max = 2}).ok());
  EXPECT_EQ(parse_json("[[[0]]]", {.depth_max = 1}).error().kind, Error::Kind::kInvalid);
  EXPECT_TRUE(parse_json("[0,0]", {.events_max = 4}).ok());
  EXPECT_EQ(parse_json("[0,0,0]", {.events_max = 4}).error().kind, Error::Kind::kInvalid);
}

}  // namespace
