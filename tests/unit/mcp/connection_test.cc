// A connection with the threads in the test's hand: what is sent when calls overlap, are cancelled,
// are too many, or end after the client has gone.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/batch_replies.h"
#include "mcp/connection.h"
#include "tests/unit/mcp/fake_exchange.h"
#include "tests/unit/mcp/fake_tools.h"

namespace {

using nlohmann::json;

const json kModernMeta = {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
                          {"io.modelcontextprotocol/clientCapabilities", json::object()}};

// Keeps the work until run_all(); refuses what is beyond `room`.
class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    server.on_fault([this](const std::string& what) { faults.push_back(what); });
  }

  void initialize(const std::string& revision) {
    receive({{"jsonrpc", "2.0"},
             {"id", "init"},
             {"method", "initialize"},
             {"params", {{"protocolVersion", revision}}}});
    sent.clear();
  }
  void receive(const json& message) { receive_text(message.dump()); }
  void receive_text(std::string_view text) { connection.receive(text, exchange); }
  void call(const json& id, const std::string& tool, json arguments = json::object()) {
    receive({{"jsonrpc", "2.0"},
             {"id", id},
             {"method", "tools/call"},
             {"params", {{"name", tool}, {"arguments", std::move(arguments)}}}});
  }
  void cancel(const json& id) {
    receive({{"jsonrpc", "2.0"},
             {"method", "notifications/cancelled"},
             {"params", {{"requestId", id}}}});
  }
  void run_all() {
    for (const auto& one : std::exchange(work, {})) one();
  }
  json last() { return sent.empty() ? json(nullptr) : sent.back(); }

  mcp::Server server = mcp::fake::make_server();
  std::vector<std::string> faults;
  std::vector<json> sent;
  std::vector<std::function<void()>> work;
  std::size_t room = 1000;
  std::shared_ptr<mcp::fake::FakeExchange> exchange = new_exchange();
  mcp::Connection connection{server,
                             {.id = "c",
                              .principal = {"somebody", {}},
                              .run =
                                  [this](std::function<void()> one) {
                                    if (work.size() >= room) return false;
                                    work.push_back(std::move(one));
                                    return true;
                                  },
                              .open_bytes_max = 1U << 20}};

  std::shared_ptr<mcp::fake::FakeExchange> new_exchange() {
    return std::make_shared<mcp::fake::FakeExchange>([this](const json& m) { sent.push_back(m); });
  }
};

TEST_F(ConnectionTest, PingAndListDoNotWaitForACall) {
  initialize("2025-11-25");
  call(1, "echo");
  receive({{"jsonrpc", "2.0"}, {"id", 2}, {"method", "ping"}});
  receive({{"jsonrpc", "2.0"}, {"id", 3}, {"method", "tools/list"}});
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0]["id"], 2);
  EXPECT_EQ(sent[1]["id"], 3);
  run_all();
  EXPECT_EQ(last()["id"], 1);
}

TEST_F(ConnectionTest, ADuplicateIdIsRefusedWhileTheFirstIsOpen) {
  initialize("2025-11-25");
  call(1, "echo");
  call(1, "echo");
  EXPECT_EQ(last()["error"]["code"], -32600);
  receive({{"jsonrpc", "2.0"}, {"id", 1}, {"method", "ping"}});
  EXPECT_EQ(last()["error"]["code"], -32600);
  EXPECT_EQ(connection.open_requests(), 1U);
  run_all();
  EXPECT_TRUE(last().contains("result"));
  call(1, "echo");
  run_all();
  EXPECT_TRUE(last().contains("result"));
}

TEST_F(ConnectionTest, ACancelledCallIsNotBegunAndNotAnswered) {
  bool begun = false;
  server.add_tool(mcp::fake::make_tool("begin", [&](const json&, mcp::CallContext&) {
    begun = true;
    return mcp::fake::text_result("");
  }));
  initialize("2025-06-18");
  call("x", "begin");
  cancel("x");
  run_all();
  EXPECT_FALSE(begun);
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(connection.open_requests(), 0U);
}

TEST_F(ConnectionTest, ACallCancelledWhileItRunsIsNotAnsweredAndReportsNoProgress) {
  server.add_tool(mcp::fake::make_tool("cancel_me", [&](const json&, mcp::CallContext& context) {
    cancel(7);
    EXPECT_TRUE(context.cancelled().stop_requested());
    EXPECT_FALSE(context.disconnected());
    context.report_progress(1, std::nullopt, "too late");
    return mcp::fake::text_result("nobody reads this");
  }));
  initialize("2025-06-18");
  receive({{"jsonrpc", "2.0"},
           {"id", 7},
           {"method", "tools/call"},
           {"params", {{"name", "cancel_me"}, {"_meta", {{"progressToken", 7}}}}}});
  run_all();
  EXPECT_TRUE(sent.empty());
}

TEST_F(ConnectionTest, AModernCallIsCancelledTheSameWay) {
  receive({{"jsonrpc", "2.0"},
           {"id", 4},
           {"method", "tools/call"},
           {"params", {{"name", "echo"}, {"_meta", kModernMeta}}}});
  cancel(4);
  run_all();
  EXPECT_TRUE(sent.empty());
}

TEST_F(ConnectionTest, CancelFindsIdsByTypeToo) {
  initialize("2025-06-18");
  call(1, "echo");
  cancel("1");
  cancel(json::array({1}));
  run_all();
  EXPECT_EQ(last()["id"], 1);
}

TEST_F(ConnectionTest, TooManyCallsAreRefusedOneByOne) {
  room = 2;
  initialize("2025-06-18");
  for (int id = 1; id <= 3; ++id) call(id, "echo");
  EXPECT_EQ(last()["id"], 3);
  // As a tool says it: clients show a model nothing of the body of an error.
  EXPECT_EQ(last()["result"]["isError"], true);
  const std::string why = last()["result"]["content"][0]["text"];
  EXPECT_NE(why.find("try again in 1 second"), std::string::npos) << why;
  EXPECT_EQ(connection.open_requests(), 2U);
  run_all();
  call(3, "echo");
  run_all();
  EXPECT_EQ(last()["id"], 3);
  EXPECT_EQ(last()["result"]["isError"], false);
}

TEST_F(ConnectionTest, TooManyBytesAtOnceAreRefused) {
  initialize("2025-06-18");
  const std::string large(200U << 10, 'x');
  for (int id = 1; id <= 6; ++id) call(id, "who", {{"text", large}});
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(last()["id"], 6);
  EXPECT_EQ(last()["result"]["isError"], true);
  run_all();
  call(6, "who", {{"text", large}});
  run_all();
  EXPECT_TRUE(last().contains("result"));
  // One that is larger than all of that is let in alone.
  call(7, "who", {{"text", std::string(2U << 20, 'x')}});
  run_all();
  EXPECT_EQ(last()["id"], 7);
  EXPECT_TRUE(last().contains("result"));
}

TEST_F(ConnectionTest, NothingIsSentAfterDisconnect) {
  bool told = false;
  server.add_tool(mcp::fake::make_tool("told", [&](const json&, mcp::CallContext& context) {
    connection.disconnect();
    told = context.disconnected() && context.cancelled().stop_requested();
    return mcp::fake::text_result("");
  }));
  initialize("2025-06-18");
  call(1, "told");
  call(2, "echo");
  run_all();
  EXPECT_TRUE(told);
  EXPECT_TRUE(sent.empty());
}

TEST_F(ConnectionTest, ABatchIsAnsweredWhenItsLastCallEnds) {
  initialize("2025-03-26");
  const auto one = [](int id) {
    return json{
        {"jsonrpc", "2.0"}, {"id", id}, {"method", "tools/call"}, {"params", {{"name", "who"}}}};
  };
  receive(json::array({one(1), {{"jsonrpc", "2.0"}, {"id", 2}, {"method", "ping"}}, one(3)}));
  EXPECT_TRUE(sent.empty());
  std::swap(work[0], work[1]);
  run_all();
  ASSERT_EQ(sent.size(), 1U);
  ASSERT_EQ(last().size(), 3U);
  EXPECT_EQ(last()[0]["id"], 2);
  EXPECT_EQ(last()[1]["id"], 3);
  EXPECT_EQ(last()[2]["id"], 1);
}

TEST_F(ConnectionTest, TheRepliesToABatchAreBoundedTogether) {
  server.add_tool(mcp::fake::make_tool("large", [](const json&, mcp::CallContext&) {
    return mcp::fake::text_result(std::string(mcp::kBatchReplyBytesMax / 3, 'x'));
  }));
  initialize("2025-03-26");
  json batch = json::array();
  for (std::size_t id = 0; id < 6; ++id) {
    batch.push_back({{"jsonrpc", "2.0"},
                     {"id", id},
                     {"method", "tools/call"},
                     {"params", {{"name", "large"}}}});
  }
  receive(batch);
  run_all();
  ASSERT_EQ(last().size(), 6U);
  EXPECT_LT(last().dump().size(), mcp::kBatchReplyBytesMax + 1000);
  for (std::size_t id = 0; id < 6; ++id) {
    EXPECT_EQ(last()[id]["id"], id);
    EXPECT_EQ(last()[id].contains("result"), id < 2);
  }
}

TEST(BatchReplies, ARequestWithoutReplyFitsIntoAFullBatch) {
  json sent;
  mcp::BatchReplies replies(3, [&sent](json all) { sent = std::move(all); });
  const json empty = {{"id", 1}, {"result", ""}};
  json full = empty;
  full["result"] = std::string(mcp::kBatchReplyBytesMax - empty.dump().size(), 'x');
  replies.add(std::move(full));
  replies.add(nullptr);
  replies.add(empty);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_TRUE(sent[0].contains("result"));
  EXPECT_EQ(sent[1]["id"], 1);
  EXPECT_TRUE(sent[1].contains("error"));
}

TEST_F(ConnectionTest, CapabilitiesAreNotKeptHoweverLarge) {
  receive({{"jsonrpc", "2.0"},
           {"id", 1},
           {"method", "initialize"},
           {"params",
            {{"protocolVersion", "2025-06-18"},
             {"capabilities", {{"experimental", std::string(100'000, 'x')}}}}}});
  EXPECT_EQ(last()["error"]["code"], mcp::kInvalidParams);
  EXPECT_EQ(connection.legacy_format(), nullptr);
}

TEST_F(ConnectionTest, ABatchLeavesOutWhatWasCancelled) {
  initialize("2025-03-26");
  const auto one = [](int id) {
    return json{
        {"jsonrpc", "2.0"}, {"id", id}, {"method", "tools/call"}, {"params", {{"name", "who"}}}};
  };
  receive(json::array({one(1), one(2)}));
  cancel(2);
  run_all();
  ASSERT_EQ(sent.size(), 1U);
  ASSERT_EQ(last().size(), 1U);
  EXPECT_EQ(last()[0]["id"], 1);
  receive(json::array({one(3)}));
  cancel(3);
  run_all();
  EXPECT_EQ(sent.size(), 1U);
}

TEST_F(ConnectionTest, ACallKeepsTheRevisionItBeganWith) {
  initialize("2024-11-05");
  call(1, "everything");
  receive({{"jsonrpc", "2.0"},
           {"id", 2},
           {"method", "initialize"},
           {"params", {{"protocolVersion", "2025-11-25"}}}});
  run_all();
  EXPECT_EQ(last()["id"], 1);
  EXPECT_FALSE(last()["result"].contains("structuredContent"));
  call(3, "everything");
  run_all();
  EXPECT_TRUE(last()["result"].contains("structuredContent"));
}

TEST_F(ConnectionTest, BothErasOnOneConnection) {
  receive({{"jsonrpc", "2.0"},
           {"id", "probe"},
           {"method", "server/discover"},
           {"params", {{"_meta", kModernMeta}}}});
  EXPECT_EQ(last()["result"]["supportedVersions"], json::array({"2026-07-28"}));
  initialize("2025-11-25");
  call(1, "echo");
  receive({{"jsonrpc", "2.0"},
           {"id", 2},
           {"method", "tools/call"},
           {"params", {{"name", "echo"}, {"_meta", kModernMeta}}}});
  run_all();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_FALSE(sent[0]["result"].contains("resultType"));
  EXPECT_EQ(sent[1]["result"]["resultType"], "complete");
}

TEST_F(ConnectionTest, WhatAToolThrowsIsToldToTheHookOnly) {
  initialize("2025-06-18");
  call(1, "throw");
  run_all();
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0], "tool throw: a secret of the server");
  EXPECT_EQ(last().dump().find("secret"), std::string::npos);
}

TEST_F(ConnectionTest, LongWordsOfAClientAreNotEchoedWhole) {
  initialize("2025-06-18");
  const std::string large(1U << 20, 'y');
  call(1, large);
  run_all();
  EXPECT_LT(last().dump().size(), 1000U);
  receive({{"jsonrpc", "2.0"}, {"id", 2}, {"method", large}});
  EXPECT_LT(last().dump().size(), 1000U);
  json meta = kModernMeta;
  meta["io.modelcontextprotocol/protocolVersion"] = large;
  receive({{"jsonrpc", "2.0"}, {"id", 3}, {"method", "x"}, {"params", {{"_meta", meta}}}});
  EXPECT_EQ(last()["error"]["code"], -32022);
  EXPECT_LT(last().dump().size(), 1000U);
}

TEST_F(ConnectionTest, ListsAreTheSameEachTime) {
  initialize("2025-11-25");
  receive({{"jsonrpc", "2.0"}, {"id", 1}, {"method", "tools/list"}});
  receive({{"jsonrpc", "2.0"}, {"id", 1}, {"method", "tools/list"}});
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0], sent[1]);
  EXPECT_EQ(sent[0]["result"]["tools"][0]["name"], "echo");
}

// Every message of the golden kind cut short, and with each byte changed: an answer or silence.
TEST_F(ConnectionTest, MangledMessagesNeverCrash) {
  initialize("2025-03-26");
  const std::string good =
      R"([{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":[1]},"_meta":{"progressToken":1}}}])";
  for (std::size_t at = 0; at < good.size(); ++at) {
    receive_text(good.substr(0, at));
    receive_text(std::string_view(good).substr(at));
    for (const char byte : {'\0', '"', '{', ']', ',', ':', '\\', '\xff', '9', ' '}) {
      std::string bad = good;
      bad[at] = byte;
      receive_text(bad);
      run_all();
    }
  }
  EXPECT_EQ(connection.open_requests(), 0U);
  receive({{"jsonrpc", "2.0"}, {"id", 2}, {"method", "ping"}});
  EXPECT_EQ(last()["result"], json::object());
}

}  // namespace
