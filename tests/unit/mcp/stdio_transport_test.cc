// serve_stdio() as its client sees it, over pipes and over a socket. Nothing here sleeps: tools
// tell when they have begun and wait to be let go.
#include <gtest/gtest.h>

#include <array>
#include <latch>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/unit/mcp/fake_tools.h"
#include "tests/unit/mcp/pipe_client.h"

namespace {

using mcp::StdioOptions;
using mcp::fake::Event;
using mcp::fake::PipeClient;
using mcp::fake::text_result;
using nlohmann::json;
using std::chrono::milliseconds;

// Adds `wait`: tells `begun`, then waits for `let_go` or the cancellation, and tells `cancelled`.
struct Waiting {
  Event begun;
  Event let_go;
  Event cancelled;

  void add_to(mcp::Server& server, const std::string& name = "wait") {
    server.add_tool(mcp::fake::make_tool(name, [this](const json&, mcp::CallContext& context) {
      begun.set();
      if (let_go.wait(context.cancelled())) return text_result("let go");
      cancelled.set();
      return text_result("cancelled");
    }));
  }
};

class Stdio : public testing::TestWithParam<PipeClient::Kind> {
 protected:
  mcp::Server server = mcp::fake::make_server();
  Waiting waiting;
};

INSTANTIATE_TEST_SUITE_P(Both, Stdio,
                         testing::Values(PipeClient::Kind::kPipes, PipeClient::Kind::kSocket),
                         [](const auto& kind) {
                           return kind.param == PipeClient::Kind::kPipes ? "Pipes" : "Socket";
                         });

TEST_P(Stdio, Serves) {
  PipeClient client(server, {}, GetParam());
  client.initialize();
  client.call(1, "echo", {{"text", "x"}});
  EXPECT_EQ(client.read()["result"]["structuredContent"], json({{"text", "x"}}));
  client.close_input();
  EXPECT_TRUE(client.wait_for_end());
  EXPECT_EQ(client.read(), nullptr);
}

TEST_P(Stdio, QuickAnswersOvertakeASlowCall) {
  waiting.add_to(server);
  PipeClient client(server, {}, GetParam());
  client.initialize();
  client.call("slow", "wait");
  ASSERT_TRUE(waiting.begun.wait());
  client.request(1, "ping");
  client.request(2, "tools/list");
  client.call(3, "echo");
  std::set<json> before;
  for (int i = 0; i < 3; ++i) before.insert(client.read()["id"]);
  EXPECT_EQ(before, (std::set<json>{1, 2, 3}));
  waiting.let_go.set();
  EXPECT_EQ(client.read()["id"], "slow");
}

TEST_P(Stdio, CallsRunAtOnce) {
  std::latch all_there(16);
  server.add_tool(mcp::fake::make_tool("meet", [&](const json&, mcp::CallContext&) {
    all_there.arrive_and_wait();
    return text_result("met");
  }));
  PipeClient client(server, {}, GetParam());
  client.initialize();
  for (int id = 0; id < 16; ++id) client.call(id, "meet");
  std::set<json> answered;
  for (int i = 0; i < 16; ++i) answered.insert(client.read()["id"]);
  EXPECT_EQ(answered.size(), 16U);
}

TEST_P(Stdio, ManyCallsAreEachAnsweredOnce) {
  PipeClient client(server, {}, GetParam());
  client.initialize();
  std::set<json> answered;
  for (int round = 0; round < 4; ++round) {
    for (int id = 0; id < 200; ++id) client.call(round * 200 + id, "echo", {{"n", id}});
    for (int i = 0; i < 200; ++i) {
      const json reply = client.read();
      EXPECT_EQ(reply["result"]["structuredContent"]["n"], reply["id"].get<int>() % 200);
      answered.insert(reply["id"]);
    }
  }
  EXPECT_EQ(answered.size(), 800U);
}

TEST_P(Stdio, WhatDoesNotFitTheQueueIsRefused) {
  waiting.add_to(server);
  StdioOptions options;
  options.threads_max = 1;
  options.queue_max = 1;
  PipeClient client(server, options, GetParam());
  client.initialize();
  for (int id = 1; id <= 3; ++id) client.call(id, "wait");
  const json refused = client.read();
  EXPECT_EQ(refused["id"], 3);
  EXPECT_EQ(refused["result"]["isError"], true);
  waiting.let_go.set();
  EXPECT_EQ(client.read()["id"], 1);
  EXPECT_EQ(client.read()["id"], 2);
}

TEST_P(Stdio, ACancelledCallIsNotAnswered) {
  waiting.add_to(server);
  PipeClient client(server, {}, GetParam());
  client.initialize();
  client.call(1, "wait");
  ASSERT_TRUE(waiting.begun.wait());
  client.cancel(1);
  ASSERT_TRUE(waiting.cancelled.wait());
  client.request(2, "ping");
  EXPECT_EQ(client.read()["id"], 2);
  client.close_input();
  EXPECT_TRUE(client.wait_for_end());
  EXPECT_EQ(client.read(), nullptr);
}

TEST_P(Stdio, ADuplicateIdIsRefusedAndTheFirstGoesOn) {
  waiting.add_to(server);
  PipeClient client(server, {}, GetParam());
  client.initialize();
  client.call(1, "wait");
  client.call(1, "echo");
  EXPECT_EQ(client.read()["error"]["code"], -32600);
  waiting.let_go.set();
  EXPECT_TRUE(client.read().contains("result"));
}

TEST_P(Stdio, AtTheEndOfInputCallsInProgressAreAnswered) {
  waiting.add_to(server);
  StdioOptions options;
  options.grace = std::chrono::duration_cast<milliseconds>(mcp::fake::kPatience);
  PipeClient client(server, options, GetParam());
  client.initialize();
  client.call(1, "wait");
  ASSERT_TRUE(waiting.begun.wait());
  client.close_input();
  EXPECT_FALSE(client.ended());
  waiting.let_go.set();
  EXPECT_EQ(client.read()["id"], 1);
  EXPECT_TRUE(client.wait_for_end());
  EXPECT_FALSE(waiting.cancelled.is_set());
}

TEST_P(Stdio, AfterTheGraceTheyAreCancelled) {
  waiting.add_to(server);
  StdioOptions options;
  options.grace = milliseconds(1);
  PipeClient client(server, options, GetParam());
  client.initialize();
  client.call(1, "wait");
  ASSERT_TRUE(waiting.begun.wait());
  client.close_input();
  EXPECT_TRUE(waiting.cancelled.wait());
  EXPECT_TRUE(client.wait_for_end());
  EXPECT_EQ(client.read(), nullptr);
}

TEST_P(Stdio, AStopEndsIt) {
  PipeClient client(server, {}, GetParam());
  client.initialize();
  client.stop();
  EXPECT_TRUE(client.wait_for_end());
}

TEST_P(Stdio, AStopCutsTheGraceOfAnEndedInputShort) {
  waiting.add_to(server);
  StdioOptions options;
  options.grace = std::chrono::hours(1);
  PipeClient client(server, options, GetParam());
  client.initialize();
  client.call(1, "wait");
  ASSERT_TRUE(waiting.begun.wait());
  client.close_input();
  client.stop();
  EXPECT_TRUE(client.wait_for_end());
}

TEST_P(Stdio, ALineThatIsTooLongIsRefusedByItsId) {
  StdioOptions options;
  options.line_bytes_max = 1000;
  PipeClient client(server, options, GetParam());
  client.initialize();
  client.call("long", "echo", {{"text", std::string(3'000'000, 'x')}});
  const json reply = client.read();
  EXPECT_EQ(reply["id"], "long");
  EXPECT_EQ(reply["error"]["code"], -32600);
  EXPECT_TRUE(client.send_raw(std::string(5000, 'x') + "\n"));
  EXPECT_FALSE(client.read().contains("id"));
  client.request(1, "ping");
  EXPECT_EQ(client.read()["id"], 1);
}

TEST_P(Stdio, AClientThatDoesNotReadCannotKeepItFromStopping) {
  StdioOptions options;
  options.outbox_bytes_max = 1000;
  options.grace = milliseconds(1);
  PipeClient client(server, options, GetParam());
  client.initialize();
  const json list = {{"jsonrpc", "2.0"}, {"id", 1}, {"method", "tools/list"}};
  const json call = {
      {"jsonrpc", "2.0"},
      {"id", 2},
      {"method", "tools/call"},
      {"params", {{"name", "echo"}, {"arguments", {{"a", std::string(9000, 'x')}}}}}};
  // Pipe, outbox, threads and the input's pipe are full when nothing more goes in.
  while (client.send_raw(list.dump() + "\n" + call.dump() + "\n", milliseconds(500))) {
  }
  client.stop();
  EXPECT_TRUE(client.wait_for_end());
}

TEST_P(Stdio, ASlowReaderGetsEverything) {
  StdioOptions options;
  options.outbox_bytes_max = 4096;
  PipeClient client(server, options, GetParam());
  client.initialize();
  std::thread writer([&] {
    for (int id = 0; id < 300; ++id) client.call(id, "echo", {{"a", std::string(2000, 'x')}});
  });
  std::set<json> answered;
  for (int i = 0; i < 300; ++i) answered.insert(client.read()["id"]);
  writer.join();
  EXPECT_EQ(answered.size(), 300U);
}

TEST_P(Stdio, AClientThatIsGoneEndsItAndItsCalls) {
  waiting.add_to(server);
  StdioOptions options;
  options.grace = std::chrono::hours(1);
  PipeClient client(server, options, GetParam());
  client.initialize();
  client.call(1, "wait");
  ASSERT_TRUE(waiting.begun.wait());
  client.close_output();  // its input stays open where the two are pipes
  EXPECT_TRUE(waiting.cancelled.wait());
  EXPECT_TRUE(client.wait_for_end());
}

TEST_P(Stdio, GarbageIsAnsweredAndTheServerLives) {
  PipeClient client(server, {}, GetParam());
  const std::array<std::pair<std::string, int>, 6> cases{{{"garbage", -32700},
                                                          {"\xff\xfe", -32700},
                                                          {std::string(200'000, '['), -32600},
                                                          {"[]", -32600},
                                                          {"5", -32600},
                                                          {std::string(3, '\0'), -32700}}};
  for (const auto& [line, code] : cases) {
    EXPECT_TRUE(client.send_raw(line + "\n"));
    EXPECT_EQ(client.read()["error"]["code"], code) << line.substr(0, 20);
  }
  EXPECT_TRUE(client.send_raw("\n \r\n\t\n"));
  client.initialize();
}

TEST_P(Stdio, AMessageInPiecesAndManyInOnePiece) {
  PipeClient client(server, {}, GetParam());
  const std::string ping = json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "ping"}}.dump() + "\r\n";
  for (const char& byte : ping) EXPECT_TRUE(client.send_raw({&byte, 1}));
  EXPECT_EQ(client.read()["id"], 1);
  std::string many;
  for (int i = 0; i < 500; ++i) many += ping;
  EXPECT_TRUE(client.send_raw(many));
  for (int i = 0; i < 500; ++i) EXPECT_EQ(client.read()["id"], 1);
}

TEST_P(Stdio, ALastLineWithoutItsNewlineIsAnswered) {
  PipeClient client(server, {}, GetParam());
  EXPECT_TRUE(client.send_raw(R"({"jsonrpc":"2.0","id":1,"method":"ping"})"));
  client.close_input();
  EXPECT_EQ(client.read()["id"], 1);
}

TEST_P(Stdio, ProgressComesBeforeTheResult) {
  PipeClient client(server, {}, GetParam());
  client.initialize();
  client.request(1, "tools/call", {{"name", "progress"}, {"_meta", {{"progressToken", 0}}}});
  double last = -1;
  json message = client.read();
  for (; message.contains("method"); message = client.read()) {
    EXPECT_EQ(message["params"]["progressToken"], 0);
    EXPECT_GT(message["params"]["progress"].get<double>(), last);
    last = message["params"]["progress"].get<double>();
  }
  EXPECT_EQ(last, 2);
  EXPECT_EQ(message["id"], 1);
}

TEST_P(Stdio, AThrowingToolLeavesTheServerAlive) {
  PipeClient client(server, {}, GetParam());
  client.initialize();
  client.call(1, "throw");
  EXPECT_EQ(client.read()["error"]["code"], -32603);
  client.call(2, "echo");
  EXPECT_EQ(client.read()["id"], 2);
}

TEST_P(Stdio, AResultOfMegabytesArrivesWhole) {
  PipeClient client(server, {}, GetParam());
  client.initialize();
  const std::string large(1U << 20, 'x');
  client.call(1, "echo", {{"a", large}});
  EXPECT_EQ(client.read()["result"]["structuredContent"]["a"], large);
}

}  // namespace
