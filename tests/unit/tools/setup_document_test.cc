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
            "args = [\"stdio\", \"--allow\", \"é\\\"\\\\\"]\n");
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
  json left = tools::setup::parse_document(format, rest.value()).value();
  if (map->empty() && format == Format::kYaml) *map = nullptr;
  if (map->empty() && format == Format::kToml) left[keys[0]] = json::object();
  EXPECT_EQ(left, wanted) << text << "\n" << rest.value();
}

TEST(SetupDocument, WhetherOnlyTheEntryHasGone) {
  const json before = json::parse(R"({"a": 1, "m": {"hutch": {"b": 2}}})");
  const auto is_without = [&before](const char* after) {
    return tools::setup::is_without(json::parse(after), before, {"m"}, "hutch");
  };
  EXPECT_TRUE(is_without(R"({"a": 1, "m": {}})"));
  EXPECT_TRUE(is_without(R"({"a": 1, "m": null})"));
  EXPECT_TRUE(is_without(R"({"a": 1})"));
  EXPECT_FALSE(is_without(R"({"a": 1, "b": 2})"));
  EXPECT_FALSE(is_without(R"({"m": {}})"));
  EXPECT_FALSE(is_without(R"({"a": 1, "m": {"hutch": {}}})"));
  EXPECT_FALSE(is_without(R"({"a": 1, "m": {"b": 2}})"));
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
       {"[mcp_servers.hutch]\ncommand = \"x\"\nenabled = true\n\n# of a\n[a]\nb = 1\n",
        "c = 1\n[mcp_servers.hutch]\ncommand = \"x\"\n[mcp_servers.hutch.env]\nA = \"b\"\n[d]\n",
        "[mcp_servers.hutch.env]\nA = 'b'\n[a]\n[mcp_servers.hutch]\ncommand = 'x'\n[[d]]\n[[d]]\n",
        "[mcp_servers]\na = {}\nhutch = {command = \"x\"} # mine\nb = {}\n",
        "[mcp_servers.hutch]\r\ncommand = '''x\r\n[a]'''\r\nenv.A = '1'\r\n[a]"}) {
    take_out(Format::kToml, text, {"mcp_servers"});
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

// Tables and maps as people have them, in any order, with comments between; and what a client adds
// to the entry.
std::string any_toml(std::mt19937& random) {
  constexpr const char* kParts[] = {"# mine\n",
                                    "\n",
                                    "[mcp_servers.a%]\ncommand = \"x\"\nargs = [\n  \"[b]\",\n]\n",
                                    "[other%]\nb = 1 # [c]\n",
                                    "[[list]]\nc = '[d]'\n",
                                    "[projects.\"/p%\"]\ntrust_level = \"trusted\"\n",
                                    "[mcp_servers.b%.env]\nA = \"1\"\n"};
  std::string text = random() % 2 == 0 ? "model = \"o\"\n" : "";
  for (std::size_t i = 0, count = random() % 6; i < count; ++i) {
    std::string part = kParts[random() % std::size(kParts)];
    if (const auto at = part.find('%'); at != part.npos) part.replace(at, 1, std::to_string(i));
    text += part;
  }
  return text;
}

TEST(SetupDocument, AnyTomlAtAll) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    const std::string text = any_toml(random);
    std::string changed = added(Format::kToml, text, {"mcp_servers"});
    constexpr const char* kAdditions[] = {
        "", "enabled = false\n", "[mcp_servers.hutch.env]\nA = \"b\"\n",
        "startup_timeout_sec = 20\n[mcp_servers.hutch.tools.run_code]\napproval_mode = "
        "\"approve\"\n"};
    changed += kAdditions[random() % std::size(kAdditions)];
    std::string behind = any_toml(random);
    if (const auto model = behind.find("model"); model == 0) behind.erase(0, behind.find('\n') + 1);
    const std::string both = changed + behind;
    if (!tools::setup::parse_document(Format::kToml, both).ok()) continue;  // twice the same table
    take_out(Format::kToml, both, {"mcp_servers"});
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(SetupDocument, AnyYamlAtAll) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    std::string text = random() % 2 == 0 ? "GOOSE_MODEL: x # y\n" : "";
    const std::string in(1 + random() % 4, ' ');
    if (random() % 3 != 0) {
      text += "extensions:\n";
      for (std::size_t i = 0, count = random() % 3; i < count; ++i) {
        text += in + "a" + std::to_string(i) + ":\n" + in + "  enabled: true\n" + in + "  args:\n" +
                in + "  - 'b: c'\n";
        if (random() % 3 == 0) text += in + "# one\n";
      }
    }
    if (random() % 2 == 0) text += "other: [1, 2]\n";
    const auto insertion =
        tools::setup::place_entry(Format::kYaml, text, {"extensions"}, "hutch", kEntry);
    ASSERT_TRUE(insertion.ok()) << text << insertion.error().message;
    std::string changed = text;
    changed.insert(insertion.value().at, insertion.value().text);
    take_out(Format::kYaml, changed, {"extensions"});
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << text;
  }
}

}  // namespace
