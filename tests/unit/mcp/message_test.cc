// Messages: what is read, what is refused, within which bounds; and the scan that looks at text
// that is not parsed.
#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "mcp/half_characters.h"
#include "mcp/inbound.h"
#include "mcp/json_scan.h"
#include "mcp/message.h"

namespace {

using namespace mcp;
using nlohmann::json;

int code_of(const std::string& text) {
  const auto parsed = parse_json(text);
  const auto* error = std::get_if<RpcError>(&parsed);
  return error == nullptr ? 0 : error->code;
}

std::string nested(int depth) {
  const auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

TEST(ParseJson, DepthUpToTheBound) {
  EXPECT_EQ(code_of(nested(kJsonDepthMax)), 0);
  EXPECT_EQ(code_of(nested(kJsonDepthMax + 1)), kInvalidRequest);
  EXPECT_EQ(code_of(std::string(10'000'000, '[')), kInvalidRequest);
  EXPECT_EQ(code_of(std::string(10'000'000, '{')), kInvalidRequest);
}

TEST(ParseJson, BracketsInStringsAreNoDepth) {
  EXPECT_EQ(code_of("\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\""), 0);
}

TEST(ParseJson, ValuesUpToTheBound) {
  std::string list = "[0";
  for (std::size_t i = 2; i < kJsonValuesMax; ++i) list += ",0";
  EXPECT_EQ(code_of(list + "]"), 0);
  EXPECT_EQ(code_of(list + ",0]"), kInvalidRequest);
}

TEST(ParseJson, LargeStringsAreNoValues) {
  const std::string text = "\"" + std::string(4U << 20, ',') + "\"";
  const auto parsed = parse_json(text);
  ASSERT_TRUE(std::holds_alternative<json>(parsed));
  EXPECT_EQ(std::get<json>(parsed).get_ref<const std::string&>().size(), 4U << 20);
}

TEST(ParseJson, NotJson) {
  for (const char* text : {"", " ", "{", "}", "nul", "{\"a\":}", "[1,]", "'x'", "\"\n\"", "1 2",
                           "\"\\ud800\"", "NaN", "\"\\x\"", "//c"}) {
    EXPECT_EQ(code_of(text), kParseError) << text;
  }
}

TEST(ParseJson, InvalidUtf8) {
  for (const char* text :
       {"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xf8\x88\x80\x80\x80\"", "\"\xc0\x80\""}) {
    EXPECT_EQ(code_of(text), kParseError);
  }
  EXPECT_EQ(code_of(std::string("\"a\0b\"", 5)), kParseError);
}

TEST(ParseJson, ARefusedMessageKeepsItsId) {
  const auto parsed = parse_json(R"({"id":7,"method":"m","params":{"x":)" + nested(70) + "}}");
  const auto* error = std::get_if<RpcError>(&parsed);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(*error->id, 7);
}

TEST(ReadMessage, KindsAreTold) {
  const auto kind = [](const json& value) { return std::get<Message>(read_message(value)).kind; };
  EXPECT_EQ(kind({{"jsonrpc", "2.0"}, {"id", 1}, {"method", "m"}}), Message::Kind::kRequest);
  EXPECT_EQ(kind({{"jsonrpc", "2.0"}, {"method", "m"}}), Message::Kind::kNotification);
  EXPECT_EQ(kind({{"jsonrpc", "2.0"}, {"id", 1}, {"result", 5}}), Message::Kind::kResponse);
  EXPECT_EQ(kind({{"error", "anything"}}), Message::Kind::kResponse);
}

TEST(ReadMessage, ParamsAreAlwaysAnObject) {
  const auto params = [](json value) -> json {
    return *std::get<Message>(
                read_message({{"jsonrpc", "2.0"}, {"method", "m"}, {"params", std::move(value)}}))
                .params;
  };
  EXPECT_EQ(params({{"a", 1}}), json({{"a", 1}}));
  EXPECT_EQ(params(nullptr), json::object());
  EXPECT_EQ(params(json::array({1})), json::object());
}

TEST(Print, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(print(json("a\xff"
                       "b\xc3")),
            "\"a\xef\xbf\xbd"
            "b\xef\xbf\xbd\"");
  EXPECT_EQ(print(json("line\nbreak")), "\"line\\nbreak\"");
}

TEST(Print, AnErrorHasItsParts) {
  EXPECT_EQ(print(make_error({-32601, "no", json{{"a", 1}}, json("x")})),
            R"({"error":{"code":-32601,"data":{"a":1},"message":"no"},"id":"x","jsonrpc":"2.0"})");
}

// However the text is split, the same id is found.
void check_id(const std::string& text, const json& expected) {
  JsonScan whole;
  whole.feed(text);
  EXPECT_EQ(whole.id(), expected) << text;
  JsonScan bytewise;
  for (const char& byte : text) bytewise.feed({&byte, 1});
  EXPECT_EQ(bytewise.id(), expected) << text;
}

TEST(JsonScan, FindsTheId) {
  check_id(R"({"jsonrpc":"2.0","id":5,"method":"x"})", 5);
  check_id(R"({"method":"x","params":{"id":9,"a":[{"id":8}]},"jsonrpc":"2.0","id":-3})", -3);
  check_id(R"({ "id" : "a\"},b" , "method" : 1})", "a\"},b");
  check_id(R"({"a":"id","id":"\u0041","method":"id"})", "A");
  check_id(R"({"a":"x\\","id":0,"method":1})", 0);
  check_id(R"({"":1,"i":2,"idd":3,"id ":4,"id":5,"method":""})", 5);
  check_id(R"({"method":"x","id":5,)", 5);
}

TEST(JsonScan, FindsNoIdWhereThereIsNone) {
  check_id("", nullptr);
  check_id(R"({"id":5,"result":{"method":"x"},"methods":1,"metho":2})", nullptr);
  check_id(R"({"method":1,"id":1.5})", nullptr);
  check_id(R"({"method":1,"id":null})", nullptr);
  check_id(R"({"method":1,"id":{"id":5}})", nullptr);
  check_id(R"({"method":1,"id":[5]})", nullptr);
  check_id(R"({"method":1,"id":12)", nullptr);
  check_id(R"({"method":1,"id":"abc)", nullptr);
  check_id(R"({"method":1,"a":{"id":5}})", nullptr);
  check_id(R"([{"id":5}])", nullptr);
  check_id(R"({"x":"\"id\":5"})", nullptr);
  check_id("\"id\":5", nullptr);
  check_id("}}}]]]\"id\":5,", nullptr);
  check_id(R"({"method":1,"id":")" + std::string(kIdBytesMax + 1, 'i') + "\"}", nullptr);
  check_id(R"({"method":1,"id":")" + std::string(1'000'000, 'i') + "\"}", nullptr);
}

TEST(JsonScan, CountsDepthAndValues) {
  JsonScan scan;
  scan.feed(std::string(kJsonDepthMax, '['));
  EXPECT_FALSE(scan.too_deep());
  scan.feed("[");
  EXPECT_TRUE(scan.too_deep());
  EXPECT_FALSE(scan.too_many_values());
  scan.feed(std::string(kJsonValuesMax, ','));
  EXPECT_TRUE(scan.too_many_values());
}

std::optional<json> parsed_halves(std::string_view text) {
  return parse_halves(text, [](std::string_view whole) -> std::optional<json> {
    auto value = json::parse(whole, nullptr, /*allow_exceptions=*/false);
    if (value.is_discarded()) return std::nullopt;
    return value;
  });
}

TEST(HalfCharacters, LoneSurrogatesAreKnownByTheirPlace) {
  const std::string half(kHalfCharacter);
  const std::pair<const char*, std::string> cases[] = {
      {R"("a\ud83d")", "a" + half},
      {R"("\ude00b")", half + "b"},
      {R"("\ud83d\ud83d\ude00")", half + "\U0001F600"},
      {R"("\\\ud83d")", "\\" + half},
      {R"("\uD83D\n\uDE00")", half + "\n" + half},
      {R"("\ufffd\ud83d\ufdd0\uFDD1)"
       "\uFDD2\"",
       "\uFFFD" + half + "\uFDD0\uFDD1\uFDD2"},
  };
  for (const auto& [given, wanted] : cases) EXPECT_EQ(parsed_halves(given), json(wanted)) << given;
  const auto named = parsed_halves(R"({"a\ud83d":[{"b":"\ud83d"}]})");
  ASSERT_TRUE(named);
  EXPECT_EQ(*named, (json{{"a" + half, json::array({{{"b", half}}})}}));
  EXPECT_TRUE(has_half(*named) && has_half((*named)["a" + half]));
  EXPECT_FALSE(has_half(json{{"a", {"\uFFFD", 1, nullptr}}}));
  EXPECT_EQ(with_replaced_halves("a" + half + half), "a\uFFFD\uFFFD");
}

TEST(HalfCharacters, WhatHasNoneIsLeftAlone) {
  for (const char* text : {R"("\ud83d\ude00")", R"("\\ud83d")", R"("\ud83")", "\"\\", "\"\\u", "",
                           "\xed\xa0\x80", "\"\xed\xa0\x80\\ud83d\""}) {
    EXPECT_EQ(parsed_halves(text), std::nullopt) << text;
  }
}

bool is_read(const std::string& text) {
  return std::holds_alternative<Inbound>(read_inbound(text));
}

std::string call_with(const std::string& arguments, const std::string& name = "t") {
  return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + name +
         R"(","arguments":)" + arguments + "}}";
}

TEST(HalfCharacters, ArgumentsOfToolsMayHaveThemAndNothingElse) {
  for (const char* arguments : {R"({"code":"x = '\ud83d'"})", R"({"path":"\ud83d"})",
                                R"({"code":"\ud83d","\ud83d":1})", R"({"env":{"A":"\ud83d"}})"}) {
    EXPECT_TRUE(is_read(call_with(arguments))) << arguments;
  }
  EXPECT_TRUE(is_read("[" + call_with(R"({"a":"\ud83d"})") + "," + call_with("{}") + "]"));
  EXPECT_FALSE(is_read(call_with(R"({"code":"\ud83d")")));
  EXPECT_FALSE(is_read(call_with("{}", R"(\ud83d)")));
  EXPECT_FALSE(is_read("[" + call_with("{}", R"(\ud83d)") + "]"));
  EXPECT_FALSE(is_read(R"({"jsonrpc":"2.0","id":"\ud83d","method":"ping"})"));
  EXPECT_FALSE(is_read(
      R"({"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"arguments":{"a":"\ud83d"}}})"));
  EXPECT_FALSE(is_read(R"("\ud83d")"));
}

}  // namespace
