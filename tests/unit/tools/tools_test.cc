// Arguments, windows of output, base64.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/arguments.h"
#include "tools/text_window.h"

namespace {

using namespace tools;
using nlohmann::json;

const std::vector<Argument> kTable = {
    {.name = "text", .required = true, .description = "d", .least = 1, .most = 10},
    {.name = "number", .type = Argument::Type::kInteger, .description = "", .least = 1, .most = 9},
    {.name = "flag",
     .type = Argument::Type::kBoolean,
     .description = "",
     .least = std::nullopt,
     .most = std::nullopt},
    {.name = "one_of",
     .description = "",
     .least = std::nullopt,
     .most = std::nullopt,
     .values = {"a", "b"}},
    {.name = "list",
     .type = Argument::Type::kStringList,
     .description = "",
     .least = std::nullopt,
     .most = 2},
    {.name = "map",
     .type = Argument::Type::kStringMap,
     .description = "",
     .least = std::nullopt,
     .most = 2}};

std::string refusal(const json& given) {
  const auto checked = check_arguments(kTable, given);
  return checked.ok() ? "accepted" : checked.error().message;
}

TEST(Arguments, SchemaIsFlatAndSaysTheSame) {
  const json schema = schema_of(kTable);
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["required"], json::array({"text"}));
  EXPECT_EQ(schema["properties"]["number"],
            (json{{"type", "integer"}, {"minimum", 1}, {"maximum", 9}}));
  EXPECT_EQ(schema["properties"]["one_of"]["enum"], (json{"a", "b"}));
  EXPECT_EQ(schema["properties"]["list"]["items"]["type"], "string");
}

TEST(Arguments, GoodOnesComeThrough) {
  const auto checked = check_arguments(kTable, {{"text", "t"},
                                                {"number", 5.0},
                                                {"flag", true},
                                                {"list", {"x"}},
                                                {"map", {{"k", "v"}}},
                                                {"one_of", nullptr}});
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked.value().text("text"), "t");
  EXPECT_EQ(checked.value().integer("number", 0), 5);
  EXPECT_TRUE(checked.value().boolean("flag", false));
  EXPECT_EQ(checked.value().list("list"), std::vector<std::string>{"x"});
  EXPECT_EQ(checked.value().map("map").at("k"), "v");
  EXPECT_FALSE(checked.value().has("one_of"));
}

TEST(Arguments, BadOnesAreNamed) {
  EXPECT_EQ(refusal(json::object()), "missing argument text (string)");
  EXPECT_EQ(refusal({{"text", ""}}), "text must not be empty");
  EXPECT_EQ(refusal({{"text", "12345678901"}}), "text is 11 bytes, at most 10 are allowed");
  EXPECT_EQ(refusal({{"text", 1}}), "text must be of type string");
  EXPECT_EQ(refusal({{"text", "t"}, {"number", 10}}), "number must be a whole number from 1 to 9");
  EXPECT_EQ(refusal({{"text", "t"}, {"number", 1e300}}),
            "number must be a whole number from 1 to 9");
  EXPECT_EQ(refusal({{"text", "t"}, {"number", -1e300}}),
            "number must be a whole number from 1 to 9");
  EXPECT_EQ(refusal({{"text", "t"}, {"flag", "true"}}), "flag must be of type boolean");
  EXPECT_EQ(refusal({{"text", "t"}, {"one_of", "c"}}), "one_of must be one of: a, b");
  EXPECT_EQ(refusal({{"text", "t"}, {"list", {"1", "2", "3"}}}),
            "list has 3 entries, at most 2 are allowed");
  EXPECT_EQ(refusal({{"text", "t"}, {"txet", "t"}}),
            "unknown argument \"txet\"; this tool takes: text, number, flag, one_of, list, map");
  EXPECT_EQ(refusal(json::array()), "arguments must be an object");
}

TEST(Arguments, HalfACharacterIsReplacedInContentAndRefusedInNames) {
  const std::string half = "\xed\xa0\x80";
  const std::vector<Argument> table = {
      {.name = "text", .is_content = true},
      {.name = "path"},
      {.name = "names", .type = Argument::Type::kStringList},
      {.name = "lines", .type = Argument::Type::kStringList, .is_content = true},
      {.name = "env", .type = Argument::Type::kStringMap, .is_content = true},
      {.name = "object", .type = Argument::Type::kObject}};
  const auto taken = check_arguments(
      table, {{"text", "a" + half}, {"lines", {"b", half}}, {"env", {{"A", half}}}, {"path", "p"}});
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken.value().text("text"), "a\uFFFD");
  EXPECT_EQ(taken.value().list("lines"), (std::vector<std::string>{"b", "\uFFFD"}));
  EXPECT_EQ(taken.value().map("env").at("A"), "\uFFFD");
  EXPECT_EQ(taken.value().told_of_halves(),
            "env, lines, text have U+FFFD in place of half a character (a lone surrogate)");
  const auto genuine = check_arguments(table, {{"text", "\uFFFD"}, {"path", "\uFFFD"}});
  ASSERT_TRUE(genuine.ok());
  EXPECT_EQ(genuine.value().told_of_halves(), "");
  const json names[] = {{{"path", half}},
                        {{"names", {"a", half}}},
                        {{"env", {{half, "A"}}}},
                        {{"object", {{"a", {half}}}}}};
  for (const json& given : names) {
    const auto refused = check_arguments(table, given);
    ASSERT_FALSE(refused.ok()) << given.begin().key();
    const std::string& said = refused.error().message;
    EXPECT_TRUE(said.starts_with(given.begin().key())) << said;
    EXPECT_NE(said.find("half a character"), std::string::npos) << said;
  }
}

std::string refusal_of_environment(const std::map<std::string, std::string>& env) {
  const auto checked = check_environment(env);
  return checked.ok() ? "accepted" : checked.error().message;
}

TEST(Environment, WhatFitsIsAccepted) {
  EXPECT_EQ(refusal_of_environment({}), "accepted");
  EXPECT_EQ(refusal_of_environment({{"A", ""}, {"b-c.d", "two words\n"}, {"\xc3\xa9", "x"}}),
            "accepted");
  EXPECT_EQ(refusal_of_environment({{std::string(kVariableNameBytesMax, 'n'), ""}}), "accepted");
  EXPECT_EQ(refusal_of_environment({{"A", std::string(kEnvironmentBytesMax - 3, 'x')}}),
            "accepted");
}

TEST(Environment, TooMuchIsRefusedWithWhatToDo) {
  EXPECT_EQ(refusal_of_environment({{"A", std::string(kEnvironmentBytesMax - 2, 'x')}}),
            "env has 49153 bytes, at most 49152 are allowed, NAME=value and a NUL for each: put "
            "what is large into a file with write_file, and its path into the variable");
  const std::string half(kEnvironmentBytesMax / 2, 'x');
  EXPECT_NE(refusal_of_environment({{"A", half}, {"B", half}}), "accepted");
}

TEST(Environment, NamesThatAreNoneAreRefused) {
  using namespace std::string_literals;
  for (const std::string& name : {""s, "A=B"s, "A B"s, "A\n"s, "A\0"s, "\x1b[2K"s, "\x7f"s,
                                  std::string(kVariableNameBytesMax + 1, 'n')}) {
    const std::string refused = refusal_of_environment({{name, "x"}});
    EXPECT_NE(refused.find("is no name of a variable: it has 1 to 200 bytes"), std::string::npos)
        << refused;
  }
  EXPECT_LT(refusal_of_environment({{std::string(100'000, 'n'), ""}}).size(), 300U);
  EXPECT_NE(refusal_of_environment({{"A", "x\0y"s}}).find("holds NUL"), std::string::npos);
}

TEST(Text, InvalidBytesAreReplacedOneByOne) {
  EXPECT_EQ(to_utf8("a\xff"
                    "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(to_utf8("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(to_utf8("\xc0\xaf").size(), 6U) << "overlong";
  EXPECT_EQ(to_utf8("\xed\xa0\x80").size(), 9U) << "surrogate";
  EXPECT_EQ(to_utf8("\xf5\x80\x80\x80").size(), 12U) << "above U+10FFFF";
  EXPECT_EQ(to_utf8("\xe2\x82").size(), 6U) << "cut";
}

TEST(Text, WindowsEndAtCharacters) {
  const std::string euro = "\xe2\x82\xac";
  EXPECT_EQ(whole_characters("a" + euro, 1), 1U);
  EXPECT_EQ(whole_characters("a" + euro, 2), 1U);
  EXPECT_EQ(whole_characters("a" + euro, 3), 1U);
  EXPECT_EQ(whole_characters("a" + euro, 4), 4U);
  EXPECT_EQ(whole_characters("a" + euro.substr(0, 2), 10), 1U) << "the rest is yet to come";
  EXPECT_EQ(whole_characters("", 10), 0U);
  EXPECT_EQ(broken_start(euro.substr(1) + "a"), 2U);
  EXPECT_EQ(broken_start("a"), 0U);
}

TEST(Text, RoomIsShared) {
  const auto check = [](std::size_t a, std::size_t b, std::size_t first, std::size_t second) {
    const Shares shares = share_room(a, b, 100);
    EXPECT_EQ(shares.first, first);
    EXPECT_EQ(shares.second, second);
  };
  check(10, 20, 10, 20);
  check(1000, 20, 80, 20);
  check(20, 1000, 20, 80);
  check(1000, 1000, 50, 50);
}

}  // namespace
