// Resources, prompts, completion and logging through a connection, revision by revision.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/unit/mcp/fake_client.h"
#include "tests/unit/mcp/fake_providers.h"

namespace {

using mcp::fake::Client;
using mcp::fake::Sent;
using nlohmann::json;

const std::vector<std::string> kLegacy{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

class Providers : public testing::Test {
 protected:
  mcp::fake::FullServer full;
  Client client{full.server};
};

TEST_F(Providers, CapabilitiesFollowFromWhatIsThere) {
  const json legacy = client.ask("initialize", {{"protocolVersion", "2025-11-25"}});
  EXPECT_EQ(legacy["result"]["capabilities"],
            json::parse(R"({"tools": {"listChanged": true}, "prompts": {}, "logging": {},
                            "resources": {"subscribe": true, "listChanged": true},
                            "completions": {}, "tasks": {"list": {}, "cancel": {},
                            "requests": {"tools": {"call": {}}}}})"));
  const json first = client.ask("initialize", {{"protocolVersion", "2024-11-05"}});
  EXPECT_FALSE(first["result"]["capabilities"].contains("completions"));
  EXPECT_FALSE(first["result"]["capabilities"].contains("tasks"));
  const json modern = client.ask("server/discover", Client::modern({}));
  EXPECT_FALSE(modern["result"]["capabilities"].contains("tasks"));
  EXPECT_EQ(modern["result"]["capabilities"]["extensions"],
            json({{"io.modelcontextprotocol/tasks", json::object()}}));
}

TEST_F(Providers, WhatIsNotThereIsNoMethod) {
  const mcp::Server bare({"bare", "", "1", ""});
  Client alone(bare);
  alone.initialize("2025-11-25");
  for (const char* method :
       {"resources/list", "resources/templates/list", "resources/read", "resources/subscribe",
        "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "tasks/get",
        "tasks/list", "tasks/result", "tasks/cancel"}) {
    EXPECT_EQ(alone.ask(method)["error"]["code"], -32601) << method;
    EXPECT_EQ(alone.ask(method, Client::modern({}))["error"]["code"], -32601) << method;
  }
  EXPECT_EQ(alone.ask("subscriptions/listen", Client::modern({}))["error"]["code"], -32601);
}

TEST_F(Providers, MethodsOfTheOtherEraAreUnknown) {
  client.initialize("2025-11-25");
  for (const char* method : {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                             "resources/unsubscribe", "tasks/list", "tasks/result"}) {
    EXPECT_EQ(client.ask(method, Client::modern({}))["error"]["code"], -32601) << method;
  }
  for (const char* method : {"subscriptions/listen", "tasks/update"}) {
    EXPECT_EQ(client.ask(method)["error"]["code"], -32601) << method;
  }
}

TEST_F(Providers, AListHasPages) {
  client.initialize("2025-11-25");
  const json first = client.ask("resources/list")["result"];
  EXPECT_EQ(first["resources"][0]["uri"], "test://text");
  const json second = client.ask("resources/list", {{"cursor", first["nextCursor"]}})["result"];
  EXPECT_EQ(second["resources"][0]["uri"], "test://blob");
  EXPECT_FALSE(second.contains("nextCursor"));
  for (const json& cursor : {json("third"), json(""), json(1), json::array()}) {
    EXPECT_EQ(client.ask("resources/list", {{"cursor", cursor}})["error"]["code"], -32602);
  }
}

TEST_F(Providers, AResourceHasWhatItsRevisionKnows) {
  for (const std::string& revision : kLegacy) {
    client.initialize(revision);
    const json one = client.ask("resources/list")["result"]["resources"][0];
    EXPECT_EQ(one.contains("title"), revision >= "2025-06-18") << revision;
    EXPECT_EQ(one.contains("_meta"), revision >= "2025-06-18") << revision;
    EXPECT_EQ(one.contains("icons"), revision >= "2025-11-25") << revision;
    EXPECT_EQ(one["annotations"].contains("lastModified"), revision >= "2025-06-18") << revision;
    const json read = client.ask("resources/read", {{"uri", "test://text"}})["result"];
    EXPECT_EQ(read["contents"][0]["text"], "hello");
    EXPECT_EQ(read["contents"][0].contains("_meta"), revision >= "2025-06-18") << revision;
    EXPECT_FALSE(read.contains("ttlMs"));
  }
}

TEST_F(Providers, ModernResultsSayHowLongTheyMayBeKept) {
  for (const auto& [method, scope] :
       {std::pair("tools/list", "public"), std::pair("prompts/list", "public"),
        std::pair("resources/templates/list", "public"), std::pair("resources/list", "private"),
        std::pair("server/discover", "public")}) {
    const json result = client.ask(method, Client::modern({}))["result"];
    EXPECT_EQ(result["cacheScope"], scope) << method;
    EXPECT_TRUE(result["ttlMs"].is_number_integer()) << method;
    EXPECT_EQ(result["resultType"], "complete") << method;
  }
  const json read =
      client.ask("resources/read", Client::modern({{"uri", "test://blob"}}))["result"];
  EXPECT_EQ(read["ttlMs"], 0);
  EXPECT_EQ(read["cacheScope"], "private");
}

TEST_F(Providers, WhatIsNotFoundHasTheCodeOfItsRevision) {
  for (const std::string& revision : kLegacy) {
    client.initialize(revision);
    const json error = client.ask("resources/read", {{"uri", "test://none"}})["error"];
    EXPECT_EQ(error["code"], -32002);
    EXPECT_EQ(error["data"], json({{"uri", "test://none"}}));
  }
  const json error =
      client.ask("resources/read", Client::modern({{"uri", "test://none"}}))["error"];
  EXPECT_EQ(error["code"], -32602);
  EXPECT_EQ(error["data"], json({{"uri", "test://none"}}));
  EXPECT_EQ(client.ask("resources/read", Client::modern({{"uri", 5}}))["error"]["code"], -32602);
}

TEST_F(Providers, WhatAProviderThrowsIsNotShown) {
  std::string fault;
  full.server.on_fault([&](const std::string& what) { fault = what; });
  client.initialize("2025-11-25");
  const json reply = client.ask("resources/read", {{"uri", "test://throw"}});
  EXPECT_EQ(reply["error"]["code"], -32603);
  EXPECT_EQ(reply.dump().find("secret"), std::string::npos);
  EXPECT_NE(fault.find("secret"), std::string::npos);
}

TEST_F(Providers, APromptIsShapedForItsRevision) {
  for (const std::string& revision : kLegacy) {
    client.initialize(revision);
    const json listed = client.ask("prompts/list")["result"]["prompts"][0];
    EXPECT_EQ(listed.contains("title"), revision >= "2025-06-18");
    EXPECT_EQ(listed["arguments"][0].contains("title"), revision >= "2025-06-18");
    const json got =
        client.ask("prompts/get", {{"name", "greet"}, {"arguments", {{"name", "Ann"}}}})["result"];
    EXPECT_EQ(got["messages"][0]["content"]["text"], "Hello Ann");
    EXPECT_EQ(got["messages"][1]["content"]["type"],
              revision >= "2025-06-18" ? "resource_link" : "text");
  }
}

TEST_F(Providers, WrongPromptParametersAreRefused) {
  client.initialize("2025-11-25");
  for (const json& params :
       {json::object(), json({{"name", 1}}), json({{"name", "none"}}), json({{"name", "greet"}}),
        json({{"name", "greet"}, {"arguments", {{"name", 1}}}}),
        json({{"name", "greet"}, {"arguments", {{"tone", "x"}}}}),
        json({{"name", "greet"}, {"arguments", "x"}})}) {
    EXPECT_EQ(client.ask("prompts/get", params)["error"]["code"], -32602) << params;
  }
}

TEST_F(Providers, CompletionIsCutAtAHundred) {
  client.initialize("2025-06-18");
  const json done = client.ask("completion/complete",
                               {{"ref", {{"type", "ref/resource"}, {"uri", "test://{+path}"}}},
                                {"argument", {{"name", "path"}, {"value", "x"}}}})["result"];
  EXPECT_EQ(done["completion"]["values"].size(), 100U);
  EXPECT_EQ(done["completion"]["values"][0], "x0");
  EXPECT_EQ(done["completion"]["total"], 150);
  EXPECT_EQ(done["completion"]["hasMore"], true);
}

TEST_F(Providers, CompletionKnowsTheOtherArguments) {
  client.initialize("2025-06-18");
  const json done = client.ask("completion/complete",
                               {{"ref", {{"type", "ref/prompt"}, {"name", "greet"}}},
                                {"argument", {{"name", "tone"}, {"value", ""}}},
                                {"context", {{"arguments", {{"name", "Ann"}}}}}})["result"];
  EXPECT_EQ(done["completion"], json({{"values", {"kind to Ann"}}, {"hasMore", false}}));
}

TEST_F(Providers, WrongCompletionsAreRefused) {
  client.initialize("2025-06-18");
  const json argument = {{"name", "tone"}, {"value", ""}};
  for (const json& params :
       {json::object(), json({{"ref", 1}, {"argument", argument}}),
        json({{"ref", {{"type", "ref/prompt"}, {"name", "none"}}}, {"argument", argument}}),
        json({{"ref", {{"type", "ref/prompt"}, {"name", "greet"}}}, {"argument", 1}}),
        json({{"ref", {{"type", "ref/prompt"}, {"name", "greet"}}},
              {"argument", {{"name", "none"}, {"value", ""}}}}),
        json({{"ref", {{"type", "ref/resource"}, {"uri", "x"}}}, {"argument", argument}}),
        json({{"ref", {{"type", "ref/prompt"}, {"name", "greet"}}},
              {"argument", argument},
              {"context", {{"arguments", {{"a", 1}}}}}})}) {
    EXPECT_EQ(client.ask("completion/complete", params)["error"]["code"], -32602) << params;
  }
}

TEST_F(Providers, ALegacyClientSetsTheLevelForAll) {
  client.initialize("2025-06-18");
  Sent quiet;
  client.send(1, "tools/call", {{"name", "log"}}, quiet);
  client.wait();
  EXPECT_EQ(quiet.at(0)["params"], json({{"level", "error"}, {"data", {{"n", 1}}}}));
  EXPECT_EQ(quiet.count(), 2U);
  EXPECT_EQ(client.ask("logging/setLevel", {{"level", "debug"}})["result"], json::object());
  Sent all;
  client.send(2, "tools/call", {{"name", "log"}}, all);
  client.wait();
  EXPECT_EQ(all.at(0)["method"], "notifications/message");
  EXPECT_EQ(all.at(0)["params"], json({{"level", "debug"}, {"logger", "fake"}, {"data", "small"}}));
  EXPECT_EQ(all.count(), 3U);
  EXPECT_EQ(client.ask("logging/setLevel", {{"level", "loud"}})["error"]["code"], -32602);
}

TEST_F(Providers, AModernRequestSetsTheLevelForItself) {
  Sent silent;
  client.send(1, "tools/call", Client::modern({{"name", "log"}}), silent);
  client.wait();
  EXPECT_EQ(silent.count(), 1U);
  json params = Client::modern({{"name", "log"}});
  params["_meta"]["io.modelcontextprotocol/logLevel"] = "warning";
  Sent some;
  client.send(2, "tools/call", params, some);
  client.wait();
  EXPECT_EQ(some.at(0)["params"]["level"], "error");
  EXPECT_EQ(some.count(), 2U);
}

}  // namespace
