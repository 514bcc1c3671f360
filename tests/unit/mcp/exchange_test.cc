// Tests that what belongs to a message goes where that message came from: replies, notifications
// and questions of calls that overlap, from many threads.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/connection.h"
#include "tests/unit/mcp/fake_client.h"
#include "tests/unit/mcp/fake_tools.h"

namespace {

using namespace std::chrono_literals;
using mcp::NoAnswer;
using mcp::fake::Sent;
using nlohmann::json;

class ExchangeTest : public testing::Test {
 protected:
  ExchangeTest() {
    server.add_tool(mcp::fake::make_tool("ask", [](const json& arguments, mcp::CallContext& call) {
      const auto answer = call.ask_client("elicitation/create", {{"message", "name?"}},
                                          std::chrono::milliseconds(arguments.value("ms", 10'000)));
      if (const auto* none = std::get_if<NoAnswer>(&answer)) {
        return mcp::fake::text_result("none: " + none->message);
      }
      return mcp::fake::text_result(std::get<json>(answer).dump());
    }));
  }

  void initialize(json capabilities) {
    Sent sent;
    receive({{"jsonrpc", "2.0"},
             {"id", "init"},
             {"method", "initialize"},
             {"params",
              {{"protocolVersion", "2025-11-25"}, {"capabilities", std::move(capabilities)}}}},
            sent);
  }
  void receive(const json& message, Sent& sent) {
    connection.receive(message.dump(), sent.exchange);
  }
  static json call(const json& id, const std::string& tool, json arguments = json::object()) {
    return {{"jsonrpc", "2.0"},
            {"id", id},
            {"method", "tools/call"},
            {"params",
             {{"name", tool},
              {"arguments", std::move(arguments)},
              {"_meta", {{"progressToken", id}}}}}};
  }
  static std::string text_of(const json& reply) {
    return reply["result"]["content"][0]["text"].get<std::string>();
  }

  mcp::Server server = mcp::fake::make_server();
  std::vector<std::jthread> threads;
  mcp::Connection connection{
      server, {.id = "c", .principal = {"somebody", {}}, .run = [this](std::function<void()> work) {
                 threads.emplace_back(std::move(work));
                 return true;
               }}};

  void TearDown() override { threads.clear(); }
};

TEST_F(ExchangeTest, ProgressAndResultGoWhereTheCallCameFrom) {
  initialize(json::object());
  Sent one;
  Sent two;
  receive(call(1, "progress"), one);
  receive(call(2, "progress"), two);
  threads.clear();
  for (const auto& [sent, id] : {std::pair(&one, 1), std::pair(&two, 2)}) {
    ASSERT_EQ(sent->count(), 4U);
    EXPECT_EQ(sent->at(0)["params"]["progressToken"], id);
    EXPECT_EQ(sent->at(3)["id"], id);
    EXPECT_EQ(sent->exchange->ends, 1);
  }
}

TEST_F(ExchangeTest, AQuestionIsAskedOnTheExchangeOfItsCallAndAnsweredFromAnother) {
  initialize({{"elicitation", json::object()}});
  Sent sent;
  Sent other;
  receive(call(1, "ask"), sent);
  const json question = sent.at(0);
  EXPECT_EQ(question["method"], "elicitation/create");
  receive({{"jsonrpc", "2.0"}, {"id", "not asked"}, {"result", {{"n", 0}}}}, other);
  receive({{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", {{"n", 1}}}}, other);
  receive({{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", {{"n", 2}}}}, other);
  EXPECT_EQ(text_of(sent.at(1)), R"({"n":1})");
  EXPECT_EQ(other.count(), 0U);
  EXPECT_EQ(other.exchange->ends, 3);
}

TEST_F(ExchangeTest, AClientsErrorIsNoAnswer) {
  initialize({{"elicitation", json::object()}});
  Sent sent;
  receive(call(1, "ask"), sent);
  receive({{"jsonrpc", "2.0"},
           {"id", sent.at(0)["id"]},
           {"error", {{"code", -1}, {"message", "the user left"}}}},
          sent);
  EXPECT_EQ(text_of(sent.at(1)), "none: the user left");
}

TEST_F(ExchangeTest, AQuestionIsNotWaitedForForEver) {
  initialize({{"elicitation", json::object()}});
  Sent sent;
  receive(call(1, "ask", {{"ms", 20}}), sent);
  EXPECT_EQ(sent.at(1)["method"], "notifications/cancelled");
  EXPECT_EQ(sent.at(1)["params"]["requestId"], sent.at(0)["id"]);
  EXPECT_EQ(text_of(sent.at(2)), "none: no answer in time");
}

TEST_F(ExchangeTest, ACancelledCallDoesNotWaitForItsQuestion) {
  initialize({{"elicitation", json::object()}});
  Sent sent;
  receive(call(1, "ask"), sent);
  (void)sent.at(0);
  receive(
      {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 1}}}},
      sent);
  threads.clear();
  EXPECT_EQ(sent.at(1)["method"], "notifications/cancelled");
  EXPECT_EQ(sent.count(), 2U);
}

TEST_F(ExchangeTest, WhatTheClientDidNotDeclareIsNotAsked) {
  initialize({{"sampling", json::object()}});
  Sent sent;
  receive(call(1, "ask"), sent);
  EXPECT_EQ(text_of(sent.at(0)), "none: the client did not declare elicitation/create");
}

TEST_F(ExchangeTest, MessagesMayComeFromManyThreads) {
  std::vector<std::unique_ptr<Sent>> all;
  for (int i = 0; i < 8; ++i) all.push_back(std::make_unique<Sent>());
  {
    std::vector<std::jthread> senders;
    for (int i = 0; i < 8; ++i) {
      senders.emplace_back([this, i, &sent = *all[static_cast<std::size_t>(i)]] {
        for (int n = 0; n < 100; ++n) {
          receive({{"jsonrpc", "2.0"},
                   {"id", i * 1000 + n},
                   {"method", "initialize"},
                   {"params", {{"protocolVersion", "2025-03-26"}}}},
                  sent);
          receive({{"jsonrpc", "2.0"}, {"id", i * 1000 + n}, {"method", "tools/list"}}, sent);
        }
      });
    }
  }
  for (const auto& sent : all) {
    EXPECT_EQ(sent->count(), 200U);
    EXPECT_EQ(sent->exchange->ends, 200);
  }
}

}  // namespace
