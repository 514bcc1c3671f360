// One entry in somebody's configuration: it is there, the rest is as it was, and out again to the
// byte.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tools/setup/document.h"
#include "tools/setup/json_text.h"

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using tools::setup::Format;
using tools::setup::Keys;

const ordered_json kEntry = {{"command", "/opt/a b/hutch"},
                             {"args", {"stdio", "--allow", "é\"\\"}}};

// The text with the entry, after the checks that hold for every text.
std::string added(Format format, const std::string& text, const Keys& keys) {
  const auto insertion = tools::setup::place_entry(format, text, keys, "hutch", kEntry);
  if (!insertion.ok()) {
    ADD_FAILURE() << insertion.error().message << "\n" << text;
    return "";
  }
  std::string changed = text;
  changed.insert(insertion.value().at, insertion.value().text);
  const auto document = tools::setup::parse_document(format, changed);
  EXPECT_TRUE(document.ok()) << changed;
  Keys whole = keys;
  whole.emplace_back("hutch");
  EXPECT_EQ(tools::setup::value_at(document.value(), whole), json(kEntry)) << changed;
  std::string out = changed;
  out.erase(insertion.value().at, insertion.value().text.size());
  EXPECT_EQ(out, text);
  return changed;
}

TEST(SetupDocument, JsonOfEveryAge) {
  for (const char* text :
       {"", "\n", "{}", "{\n}", "{ }\n", "// nothing yet\n", "{ /* none */ }", "\xEF\xBB\xBF{}",
        "{\"mcpServers\": {}}", "{\"mcpServers\": {\n  }\n}\n",
        "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // the first\n  "
        "},\n}\n",
        "{\r\n\t\"other\": 1,\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {}\r\n\t}\r\n}\r\n",
        "{\"a\": \"}\\\"{\", \"mcpServers\": {\"b\": [1, 2, {\"c\": \"// no\"}]}}",
        "{\"mcpServers\": {\"a\": 1}, \"mcpServers\": {\"b\": 2}}"}) {
    added(Format::kJson, text, {"mcpServers"});
    added(Format::kJson, text, {"mcp", "servers"});
  }
}

TEST(SetupDocument, ItLooksAsItsNeighboursDo) {
  EXPECT_EQ(
      added(Format::kJson, "{\n    \"mcpServers\": {\n        \"a\": {}\n    }\n}\n",
            {"mcpServers"}),
      "{\n    \"mcpServers\": {\n        \"hutch\": {\n            \"command\": \"/opt/a "
      "b/hutch\",\n"
      "            \"args\": [\"stdio\", \"--allow\", \"é\\\"\\\\\"]\n        },\n        \"a\": "
      "{}\n    }\n}\n");
  EXPECT_EQ(added(Format::kToml, "model = \"o\"\n", {"mcp_servers"}),
            "model = \"o\"\n\n[mcp_servers.hutch]\ncommand = \"/opt/a b/hutch\"\n"
            "args = [\"stdio\",\"--allow\",\"é\\\"\\\\\"]\n");
}

TEST(SetupDocument, Toml) {
  for (const char* text :
       {"", "# none", "[mcp_servers]\n", "[mcp_servers.a]\ncommand = \"x\"\n[other]\nb = 1",
        "a.b = 1\r\n[mcp_servers.'x y']\r\ncommand = 'z'\r\n"}) {
    added(Format::kToml, text, {"mcp_servers"});
  }
}

TEST(SetupDocument, Yaml) {
  for (const char* text :
       {"", "# none\n", "GOOSE_MODEL: x", "extensions: {}\n", "extensions: {a: {b: c}} # mine\n",
        "extensions:\n  developer:\n    enabled: true # yes\n    args:\n    - a\nother: 1\n",
        "extensions:\n    # the first\n    a: {x: 1}\n", "---\nextensions:\n  a: 1\n"}) {
    const auto insertion =
        tools::setup::place_entry(Format::kYaml, text, {"extensions"}, "hutch", kEntry);
    ASSERT_TRUE(insertion.ok()) << text << insertion.error().message;
    std::string changed = text;
    changed.insert(insertion.value().at, insertion.value().text);
    const json there =
        tools::setup::value_at(tools::setup::parse_document(Format::kYaml, changed).value(),
                               {"extensions", "hutch", "args"});
    EXPECT_EQ(there, json({"stdio", "--allow", "é\"\\"})) << changed;
  }
}

TEST(SetupDocument, WhatCannotBeAddedToIsSaid) {
  const auto place = [](Format format, const char* text, const char* key) {
    return tools::setup::place_entry(format, text, {key}, "hutch", kEntry);
  };
  EXPECT_FALSE(place(Format::kJson, "{\"mcpServers\": []}", "mcpServers").ok());
  EXPECT_FALSE(place(Format::kJson, "{\"a\": 1", "mcpServers").ok());
  EXPECT_FALSE(place(Format::kJson, "[]", "mcpServers").ok());
  EXPECT_FALSE(place(Format::kToml, "mcp_servers = {a = {command = \"x\"}}\n", "mcp_servers").ok());
  EXPECT_FALSE(place(Format::kToml, "a = \n", "mcp_servers").ok());
  EXPECT_FALSE(place(Format::kYaml, "extensions: [a]\n", "extensions").ok());
  EXPECT_FALSE(place(Format::kYaml, "a: [\n", "extensions").ok());
}

// Documents as nobody writes them: white space, comments and commas wherever they may be.
class Author {
 public:
  explicit Author(unsigned seed) : random_(seed) {}

  std::string value(int depth) {
    switch (pick(depth > 3 ? 3 : 5)) {
      case 0:
        return std::to_string(pick(1000));
      case 1:
        return "true";
      case 2:
        return string();
      case 3:
        return list('[', ']', [&] { return value(depth + 1); });
      default:
        return object(depth, "");
    }
  }
  std::string object(int depth, const std::string& key) {
    int member = 0;
    return list('{', '}', [&] {
      const std::string name = member++ == 0 && !key.empty() ? "\"" + key + "\"" : string();
      const bool is_key = name == "\"" + key + "\"";
      return name + gap() + ":" + gap() + (is_key ? object(depth + 1, "") : value(depth + 1));
    });
  }
  std::string gap() {
    constexpr const char* kGaps[] = {"",     " ",          "\n",        "\t",
                                     "\n  ", " // } \"\n", "/* , { */", "\r\n"};
    return kGaps[pick(std::size(kGaps))];
  }

 private:
  template <typename Make>
  std::string list(char open, char close, const Make& make) {
    std::string text(1, open);
    const std::size_t count = pick(4);
    for (std::size_t i = 0; i < count; ++i) {
      text += gap() + make() + gap();
      if (i + 1 < count || pick(3) == 0) text += "," + gap();
    }
    return text + gap() + close;
  }
  std::string string() {
    constexpr const char* kTexts[] = {"\"a\"",    "\"\\\"\"", "\"// no\"",
                                      "\"\\\\\"", "\"{[,\"",  "\"é\""};
    // Names are told apart: of two that are the same parsers keep one.
    std::string text = kTexts[pick(std::size(kTexts))];
    return text.insert(text.size() - 1, std::to_string(++count_));
  }
  std::size_t pick(std::size_t below) { return random_() % below; }

  std::mt19937 random_;
  int count_ = 0;
};

// Wherever it is and however it is written: it goes, and the rest is as it was.
void take_out(Format format, const std::string& text, const Keys& keys) {
  const auto rest = tools::setup::without_entry(format, text, keys, "hutch");
  ASSERT_TRUE(rest.ok()) << rest.error().message << "\n" << text;
  json wanted = tools::setup::parse_document(format, text).value();
  json* map = &wanted;
  for (const std::string& key : keys) map = &(*map)[key];
  map->erase("hutch");
  const json left = tools::setup::parse_document(format, rest.value()).value();
  if (map->empty() && format == Format::kYaml) *map = nullptr;
  EXPECT_EQ(left, wanted) << text << "\n" << rest.value();
}

TEST(SetupDocument, TakenOutWhereAClientHasWrittenItsFileAnew) {
  for (const char* text :
       {R"({"mcpServers":{"hutch":{"a":[1,2]}}})",
        R"({"mcpServers": {"a": 1, "hutch": {}, "b": 2}, "c": 3})",
        "{\n \"mcpServers\": {\n  \"a\": 1, // one\n  \"hutch\": 2 /* two */,\n }\n}\n",
        R"({"mcpServers":{"a":1,"hutch":"}"}})"}) {
    take_out(Format::kJson, text, {"mcpServers"});
  }
  for (const char* text :
       {"extensions:\n  hutch:\n    args:\n    - stdio\n    cmd: x\n  other:\n    a: b\nmodel: c\n",
        "extensions:\n  other: {}\n  hutch: {a: b}\n\nmodel: c\n",
        "extensions:\n  hutch:\n    a: b"}) {
    take_out(Format::kYaml, text, {"extensions"});
  }
  EXPECT_FALSE(tools::setup::without_entry(Format::kYaml, "extensions: {hutch: {a: b}}\n",
                                           {"extensions"}, "hutch")
                   .ok());
}

TEST(SetupDocument, AnyJsonAtAll) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Author author(seed);
    const std::string text =
        author.gap() + author.object(0, seed % 2 == 0 ? "mcpServers" : "") + author.gap();
    const std::string changed = added(Format::kJson, text, {"mcpServers"});
    take_out(Format::kJson, changed, {"mcpServers"});
    take_out(Format::kJson, tools::setup::parse_document(Format::kJson, changed).value().dump(),
             {"mcpServers"});
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
