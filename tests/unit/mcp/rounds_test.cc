// Tests what a handler wants of its client: in rounds with a sealed state, or asked at once.
#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "mcp/request_states.h"
#include "tests/unit/mcp/fake_client.h"
#include "tests/unit/mcp/fake_providers.h"

namespace {

using mcp::fake::Client;
using mcp::fake::Sent;
using nlohmann::json;

const json kAll = {
    {"elicitation", json::object()}, {"sampling", json::object()}, {"roots", json::object()}};

class Rounds : public testing::Test {
 protected:
  json call(json more = json::object(), json capabilities = kAll) {
    more["name"] = "ask_all";
    return client.ask("tools/call", Client::modern(std::move(more), std::move(capabilities)));
  }

  mcp::fake::FullServer full;
  Client client{full.server};
};

TEST_F(Rounds, GoOnUntilTheHandlerHasWhatItNeeds) {
  const json first = call()["result"];
  EXPECT_EQ(first["resultType"], "input_required");
  EXPECT_EQ(first["inputRequests"].size(), 3U);
  EXPECT_FALSE(first.contains("ttlMs"));
  const json second = call({{"requestState", first["requestState"]}})["result"];
  EXPECT_EQ(second["resultType"], "input_required");
  EXPECT_NE(second["requestState"], first["requestState"]);
  const json last =
      call({{"requestState", second["requestState"]},
            {"inputResponses", {{"form", {{"action", "accept"}}}, {"x", 1}}}})["result"];
  EXPECT_EQ(last["resultType"], "complete");
  EXPECT_EQ(last["content"][0]["text"], R"({"form":{"action":"accept"},"x":1})");
}

TEST_F(Rounds, OnlyWhatTheClientDeclaredIsAsked) {
  const json some = call({}, {{"sampling", json::object()}})["result"];
  EXPECT_EQ(some["inputRequests"].size(), 1U);
  EXPECT_TRUE(some["inputRequests"].contains("sample"));
  const json error = call({}, json::object())["error"];
  EXPECT_EQ(error["code"], -32021);
  EXPECT_EQ(error["data"]["requiredCapabilities"], kAll);
}

TEST_F(Rounds, AStateIsGoodForItsRequestAndPrincipalOnly) {
  const std::string state = call()["result"]["requestState"];
  for (std::string bad : {state + "-TAMPERED", state + "AAAA", state.substr(4), std::string(),
                          std::string("x"), std::string(1000, 'A')}) {
    EXPECT_EQ(call({{"requestState", bad}})["error"]["code"], -32602) << bad;
  }
  for (std::size_t at = 0; at < state.size(); at += 7) {
    std::string bad = state;
    bad[at] = bad[at] == 'A' ? 'B' : 'A';
    EXPECT_EQ(call({{"requestState", bad}})["error"]["code"], -32602) << at;
  }
  EXPECT_EQ(call({{"requestState", 5}})["error"]["code"], -32602);
  EXPECT_EQ(call({{"inputResponses", 5}})["error"]["code"], -32602);
  EXPECT_EQ(call({{"requestState", state}, {"arguments", {{"a", 1}}}})["error"]["code"], -32602);
  Client other(full.server, "somebody else");
  EXPECT_EQ(other.ask("tools/call", Client::modern({{"name", "ask_all"}, {"requestState", state}},
                                                   kAll))["error"]["code"],
            -32602);
  EXPECT_TRUE(call({{"requestState", state}}).contains("result"));
}

TEST_F(Rounds, AResourceMayAskToo) {
  const json first =
      client.ask("resources/read", Client::modern({{"uri", "test://ask"}}, kAll))["result"];
  EXPECT_EQ(first["resultType"], "input_required");
  EXPECT_FALSE(first.contains("requestState"));
  const json last = client.ask(
      "resources/read",
      Client::modern({{"uri", "test://ask"}, {"inputResponses", {{"name", "Ann"}}}}, kAll));
  EXPECT_EQ(last["result"]["contents"][0]["text"], "\"Ann\"");
}

TEST_F(Rounds, AnOlderClientIsAskedAtOnce) {
  client.initialize("2025-06-18", kAll);
  Sent sent;
  client.send(1, "tools/call", {{"name", "ask_all"}}, sent);
  for (std::size_t i = 0; i < 6; ++i) {  // two rounds of three
    const json question = sent.at(i);
    Sent nothing;
    client.send({{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", {{"n", i}}}}, nothing);
  }
  client.wait();
  EXPECT_EQ(json::parse(sent.at(6)["result"]["content"][0]["text"].get<std::string>()),
            json::parse(R"({"form": {"n": 3}, "roots": {"n": 4}, "sample": {"n": 5}})"));
}

TEST_F(Rounds, AnOlderClientThatCannotBeAskedGetsAnError) {
  client.initialize("2025-06-18");
  const json reply = client.ask("tools/call", {{"name", "ask_all"}});
  EXPECT_EQ(reply["error"]["code"], -32600);
}

TEST(RequestState, OfAnotherProcessIsRefused) {
  const mcp::RequestStates one;
  const mcp::RequestStates two;
  const std::string sealed = one.seal({{"n", 1}}, "p", "m", json::object());
  EXPECT_EQ(one.open(sealed, "p", "m", json::object()), json({{"n", 1}}));
  EXPECT_EQ(two.open(sealed, "p", "m", json::object()), std::nullopt);
  EXPECT_EQ(one.open(sealed, "q", "m", json::object()), std::nullopt);
  EXPECT_EQ(one.open(sealed, "p", "n", json::object()), std::nullopt);
}

TEST(RequestState, OfAnotherProcessWithTheSameKeysIsOpened) {
  mcp::StateKey old_key{};
  mcp::StateKey new_key{};
  old_key.fill(1);
  new_key.fill(2);
  std::vector<mcp::StateKey> keys{old_key};
  const auto source = [&keys] { return keys; };
  const mcp::RequestStates one(source);
  const mcp::RequestStates two(source);
  const mcp::RequestStates alone;
  const std::string sealed = one.seal(1, "p", "m", json::object());
  EXPECT_EQ(two.open(sealed, "p", "m", json::object()), json(1));
  EXPECT_EQ(alone.open(sealed, "p", "m", json::object()), std::nullopt);
  keys = {new_key, old_key};
  EXPECT_EQ(two.open(sealed, "p", "m", json::object()), json(1));
  const std::string newer = two.seal(2, "p", "m", json::object());
  keys = {new_key};
  EXPECT_EQ(two.open(sealed, "p", "m", json::object()), std::nullopt);
  EXPECT_EQ(one.open(newer, "p", "m", json::object()), json(2));
  // No keys to be had, for a moment.
  keys = {};
  const std::string own = one.seal(3, "p", "m", json::object());
  keys = {new_key};
  EXPECT_EQ(one.open(own, "p", "m", json::object()), json(3));
}

TEST(RequestState, KeysAreHexadecimal) {
  const auto key = mcp::parse_state_key(std::string(62, '0') + "fE");
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->at(0), 0);
  EXPECT_EQ(key->at(31), 0xfe);
  for (const std::string& wrong :
       {std::string(), std::string(62, 'a'), std::string(63, 'a') + "g", std::string(66, 'a'),
        "0x" + std::string(62, 'a'), "-1" + std::string(62, 'a')}) {
    EXPECT_EQ(mcp::parse_state_key(wrong), std::nullopt) << wrong;
  }
}

TEST(RequestState, TakesBytesThatAreNoUtf8) {
  const mcp::RequestStates states;
  const json params = {{"name", "\xff"}};
  const std::string sealed = states.seal("\xfe", "\xfd", "m", params);
  EXPECT_TRUE(states.open(sealed, "\xfd", "m", params).has_value());
}

}  // namespace
