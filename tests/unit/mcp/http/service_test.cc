// The whole of it in one process: requests, sessions, streams.
#include <algorithm>
#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "mcp/worker_pool.h"
#include "tests/unit/mcp/http/http_fixture.h"
#include "tests/unit/mcp/pipe_client.h"

namespace mcp::http {
namespace {

using fake::Event;
using nlohmann::json;

TEST_F(Http, AToolIsCalled) {
  start();
  const std::string answer =
      ask(modern("tools/call", {{"name", "echo"}, {"arguments", {{"text", "hi"}}}}, "echo"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_NE(answer.find(R"("structuredContent":{"text":"hi"})"), std::string::npos) << answer;
}

TEST_F(Http, AMissingCapabilityIsNamedBeforeAWrongParameterHeader) {
  Tool tool = fake::make_tool("task_only", nullptr);
  tool.task_support = TaskSupport::kRequired;
  tool.input_schema =
      json{{"type", "object"},
           {"properties", {{"region", {{"type", "string"}, {"x-mcp-header", "Region"}}}}}};
  server_.add_tool(std::move(tool));
  start();
  const std::string wrong =
      ask(modern("tools/call", {{"name", "task_only"}, {"arguments", {{"region", "north"}}}},
                 "task_only\r\nMcp-Param-Region: south"));
  EXPECT_NE(wrong.find("HTTP/1.1 400"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("-32021"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("io.modelcontextprotocol/tasks"), std::string::npos) << wrong;
}

TEST_F(Http, OnePrincipalLeavesRoomForTheOthers) {
  std::latch release(1);
  std::atomic<int> running = 0;
  server_.add_tool(fake::make_tool("hold", [&](const json&, CallContext&) {
    ++running;
    release.wait();
    return fake::text_result("held");
  }));
  options_.call_threads = 4;
  options_.call_threads_each = 2;
  options_.call_queue_each = 1;
  start();
  const auto hold = [this] {
    const int fd = connect();
    send(fd, modern("tools/call", {{"name", "hold"}}, "hold"));
    return fd;
  };
  std::vector<int> held{hold(), hold()};
  while (running < 2) std::this_thread::yield();
  held.push_back(hold());  // waits for a thread of its share
  // Its answer has begun: it is in the queue.
  (void)receive(held.back(), "\r\n\r\n");
  // A tool says so: clients drop the bodies of errors.
  const std::string refused = ask(modern("tools/call", {{"name", "hold"}}, "hold"));
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 200 ")) << refused;
  EXPECT_NE(refused.find(R"("isError":true)"), std::string::npos) << refused;
  EXPECT_NE(refused.find("try again in 1 second"), std::string::npos) << refused;
  std::string bobs = modern("tools/call", {{"name", "echo"}, {"arguments", {{"n", 1}}}}, "echo");
  bobs.replace(bobs.find("Bearer alice"), 12, "Bearer bobby");
  EXPECT_TRUE(ask(bobs).starts_with("HTTP/1.1 200 "));
  release.count_down();
  for (const int fd : held) {
    EXPECT_NE(receive(fd).find("held"), std::string::npos);
    ::close(fd);
  }
}

// A caller has this by default: eight at work for each processor, and a thousand that wait, in both
// queues.
TEST(ServeOptions, HaveDefaultsThatHold) {
  const ServeOptions options;
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  EXPECT_EQ(options.calls_at_work_each, 8 * processors);
  EXPECT_EQ(options.calls_at_work_beside_others_each, std::max<std::size_t>(1, processors / 2));
  EXPECT_EQ(options.call_queue_each, 1000U);
  EXPECT_EQ(options.bounds.queue_each, 1000U);
  EXPECT_EQ(options.calls_per_minute_each, 0U);
  std::latch release(1);
  std::atomic<std::size_t> at_work = 0;
  WorkerPool calls(options.call_threads, options.call_queue,
                   {options.call_threads_each, options.call_queue_each, options.calls_at_work_each,
                    options.calls_at_work_beside_others_each});
  std::size_t taken = 0;
  while (calls.run("alice", [&] {
    ++at_work;
    release.wait();
  })) {
    ++taken;
  }
  EXPECT_EQ(taken, 8 * processors + 1000);
  while (at_work < 8 * processors) std::this_thread::yield();
  EXPECT_TRUE(calls.run("bob", [] {})) << "she leaves room";
  EXPECT_EQ(at_work, 8 * processors);
  release.count_down();
  EXPECT_TRUE(calls.wait_until_idle(std::chrono::seconds(60)));
}

TEST_F(Http, ARateHoldsForEachPrincipalAndNotForTheUnbounded) {
  options_.calls_per_minute_each = 2;
  options_.unbounded_principal = "local";
  start();
  const auto call_as = [this](const std::string& who) {
    std::string text = modern("tools/call", {{"name", "echo"}, {"arguments", {{"n", 1}}}}, "echo");
    text.replace(text.find("Bearer alice"), 12, "Bearer " + who);
    return ask(text);
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_NE(call_as("alice").find(R"("isError":false)"), std::string::npos) << i;
  }
  const std::string refused = call_as("alice");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 200 ")) << refused;
  EXPECT_NE(refused.find(R"("isError":true)"), std::string::npos) << refused;
  EXPECT_NE(refused.find("try again in 30 seconds"), std::string::npos) << refused;
  EXPECT_NE(call_as("bobby").find(R"("isError":false)"), std::string::npos);
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(call_as("local").find(R"("isError":false)"), std::string::npos) << i;
  }
}

TEST_F(Http, NothingIsReadWithoutAToken) {
  start();
  const int fd = connect();
  send(fd, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n");
  const std::string answer = receive(fd);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
  EXPECT_NE(answer.find("WWW-Authenticate: Bearer"), std::string::npos);
  ::close(fd);
}

TEST_F(Http, ASessionOfAnotherPrincipalIsNotFound) {
  start();
  const json opening = {
      {"jsonrpc", "2.0"},
      {"id", 1},
      {"method", "initialize"},
      {"params", {{"protocolVersion", "2025-11-25"}, {"capabilities", json::object()}}}};
  const std::string opened = ask(post(opening, "alice", ""));
  const std::string name = "Mcp-Session-Id: ";
  const std::size_t at = opened.find(name);
  ASSERT_NE(at, std::string::npos) << opened;
  const std::string header = opened.substr(at, opened.find("\r\n", at) + 2 - at);
  const json listing = {{"jsonrpc", "2.0"}, {"id", 2}, {"method", "tools/list"}};
  EXPECT_TRUE(ask(post(listing, "alice", header)).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask(post(listing, "bob", header)).starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(ask(post(listing, "alice", header)).starts_with("HTTP/1.1 200 "));
}

TEST_F(Http, AStreamThatIsClosedCancelsItsCall) {
  Event begun;
  Event cancelled;
  server_.add_tool(fake::make_tool("wait", [&](const json&, CallContext& context) {
    context.report_progress(1, std::nullopt, "begun");
    begun.set();
    Event never;
    if (!never.wait(context.cancelled())) cancelled.set();
    return fake::text_result("done");
  }));
  start();
  const int fd = connect();
  json params = {{"name", "wait"}};
  params["_meta"]["progressToken"] = 1;
  send(fd, modern("tools/call", params, "wait"));
  EXPECT_TRUE(begun.wait());
  EXPECT_NE(receive(fd, "begun").find("text/event-stream"), std::string::npos);
  ::close(fd);
  EXPECT_TRUE(cancelled.wait());
}

TEST_F(Http, IdleConnectionsGiveWay) {
  options_.bounds.connections = 8;
  start();
  std::vector<int> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(connect());
  EXPECT_TRUE(ask(modern("server/discover", json::object(), "x")).starts_with("HTTP/1.1 200 "));
  for (const int fd : idle) ::close(fd);
}

TEST_F(Http, AllBodiesTogetherAreBounded) {
  options_.bounds.bodies_bytes = 100;
  options_.bounds.small_body = 10;
  start();
  EXPECT_TRUE(ask(modern("server/discover", json::object(), "x")).starts_with("HTTP/1.1 503 "));
}

TEST_F(Http, ABodyMayBeTooLarge) {
  options_.bounds.body_bytes = 100;
  start();
  EXPECT_TRUE(ask(modern("server/discover", json::object(), "x")).starts_with("HTTP/1.1 413 "));
}

TEST_F(Http, OpenStreamsHoldNoThread) {
  options_.bounds.threads = 2;
  options_.keep_alive_every = std::chrono::milliseconds(50);
  server_.tools_may_change();
  start();
  std::vector<int> streams;
  for (int i = 0; i < 50; ++i) {
    streams.push_back(connect());
    send(streams.back(),
         modern("subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}}, "x"));
    EXPECT_NE(receive(streams.back(), "acknowledged").find("acknowledged"), std::string::npos);
  }
  EXPECT_TRUE(ask(modern("server/discover", json::object(), "x")).starts_with("HTTP/1.1 200 "));
  server_.changes().tools_changed();
  for (const int fd : streams) {
    EXPECT_NE(receive(fd, "tools/list_changed").find("tools/list_changed"), std::string::npos);
    EXPECT_NE(receive(fd, ": keep-alive").find(": keep-alive"), std::string::npos);
  }
  std::thread draining([this] { service_->drain(); });
  for (const int fd : streams) {
    // The last word, and the end.
    EXPECT_NE(receive(fd).find("\"resultType\":\"complete\""), std::string::npos);
    ::close(fd);
  }
  draining.join();
}

TEST_F(Http, APolledCallIsAnsweredOnResumption) {
  options_.polled_tools = {"poll"};
  Event resumed;
  server_.add_tool(fake::make_tool("poll", [&](const json&, CallContext&) {
    EXPECT_TRUE(resumed.wait());
    return fake::text_result("polled");
  }));
  start();
  const std::string opened =
      ask(post({{"jsonrpc", "2.0"},
                {"id", 1},
                {"method", "initialize"},
                {"params", {{"protocolVersion", "2025-11-25"}, {"capabilities", json::object()}}}},
               "alice", ""));
  const std::size_t at = opened.find("Mcp-Session-Id: ");
  ASSERT_NE(at, std::string::npos) << opened;
  const std::string header = opened.substr(at, opened.find("\r\n", at) + 2 - at);
  const std::string stream = ask(post(
      {{"jsonrpc", "2.0"}, {"id", 2}, {"method", "tools/call"}, {"params", {{"name", "poll"}}}},
      "alice", header));
  EXPECT_NE(stream.find("id: 1-0\nretry: "), std::string::npos) << stream;
  EXPECT_EQ(stream.find("polled"), std::string::npos);
  const int fd = connect();
  send(fd,
       "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer "
       "alice\r\nLast-Event-ID: 1-0\r\n" +
           header + "\r\n");
  EXPECT_NE(receive(fd, "retry:").find("id: 1-0"), std::string::npos);
  resumed.set();
  EXPECT_NE(receive(fd).find("polled"), std::string::npos);
  ::close(fd);
  const std::string nothing = ask(
      "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer "
      "alice\r\nConnection: close\r\nLast-Event-ID: 1-1\r\n" +
      header + "\r\n");
  EXPECT_TRUE(nothing.starts_with("HTTP/1.1 204 ")) << nothing;
}

}  // namespace
}  // namespace mcp::http
