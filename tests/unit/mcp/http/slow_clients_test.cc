// Clients that read slowly, or send slowly, cost nobody else anything.
#include <poll.h>

#include <ctime>
#include <string>
#include <thread>

#include "tests/unit/mcp/http/http_fixture.h"
#include "tests/unit/mcp/pipe_client.h"

namespace mcp::http {
namespace {

using fake::Event;
using nlohmann::json;

TEST_F(Http, AReaderThatTakesNothingIsGivenUp) {
  options_.bounds.stream_bytes = 64U << 10;
  options_.bounds.write_patience = std::chrono::milliseconds(100);
  Event cancelled;
  server_.add_tool(fake::make_tool("flood", [&](const json&, CallContext& context) {
    while (!context.cancelled().stop_requested()) {
      context.log(LogLevel::kError, "flood", std::string(8U << 10, 'x'));
    }
    cancelled.set();
    return fake::text_result("done");
  }));
  server_.enable_logging();
  start();
  const int fd = connect();
  json params = {{"name", "flood"}};
  params["_meta"]["io.modelcontextprotocol/logLevel"] = "error";
  send(fd, modern("tools/call", params, "flood"));
  EXPECT_TRUE(cancelled.wait());
  ::close(fd);
}

TEST_F(Http, LargeAnswersThatShareAStreamWaitForEachOther) {
  options_.bounds.stream_bytes = 256U << 10;
  server_.add_tool(fake::make_tool("large", [](const json&, CallContext&) {
    return fake::text_result(std::string(16U << 20, 'x'));
  }));
  start();
  const std::string head = " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice\r\n";
  const int stream = connect();
  send(stream, "GET /sse" + head + "Accept: text/event-stream\r\n\r\n");
  const std::string opened = receive(stream, "\n\n");
  const std::size_t at = opened.find("/messages");
  ASSERT_NE(at, std::string::npos) << opened;
  const std::string path = opened.substr(at, opened.find('\n', at) - at);
  const auto tell = [&](json message) {
    message["jsonrpc"] = "2.0";
    const std::string body = message.dump();
    EXPECT_TRUE(ask("POST " + path + head +
                    "Connection: close\r\nContent-Type: application/json\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body)
                    .starts_with("HTTP/1.1 202 "));
  };
  tell({{"id", 0}, {"method", "initialize"}, {"params", {{"protocolVersion", "2024-11-05"}}}});
  for (int id = 1; id <= 4; ++id) {
    tell({{"id", id}, {"method", "tools/call"}, {"params", {{"name", "large"}}}});
  }
  std::string answers;
  for (int id = 0; id <= 4; ++id) {
    while (answers.find("\"id\":" + std::to_string(id)) == std::string::npos) {
      const std::string more = receive(stream, "\n\n");
      ASSERT_FALSE(more.empty()) << "no answer to " << id;
      answers += more;
    }
  }
  ::close(stream);
}

TEST_F(Http, AClientThatReadsSlowlyAndSendsNothingMoreCostsNothing) {
  server_.add_tool(fake::make_tool("large", [](const json&, CallContext&) {
    return fake::text_result(std::string(16U << 20, 'x'));
  }));
  start();
  const int fd = connect();
  send(fd, modern("tools/call", {{"name", "large"}}, "large"));
  EXPECT_TRUE(receive(fd, "HTTP/1.1 200").starts_with("HTTP/1.1 200"));
  EXPECT_EQ(::shutdown(fd, SHUT_WR), 0);
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // what is measured
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 10) << "a thread is busy with it";
  ::close(fd);
}

TEST_F(Http, AHeadAndABodyHaveTheirTime) {
  options_.bounds.head_patience = std::chrono::milliseconds(50);
  options_.bounds.body_patience = std::chrono::milliseconds(50);
  start();
  const int slow_head = connect();
  send(slow_head, "POST /mcp HTTP/1.1\r\n");
  EXPECT_TRUE(receive(slow_head).starts_with("HTTP/1.1 408 "));
  ::close(slow_head);
  const int slow_body = connect();
  const std::string whole = modern("server/discover", json::object(), "x");
  send(slow_body, whole.substr(0, whole.size() - 1));
  EXPECT_TRUE(receive(slow_body).starts_with("HTTP/1.1 408 "));
  ::close(slow_body);
}

TEST_F(Http, ABodyThatComesByteByByteHasNoMoreTime) {
  options_.bounds.body_patience = std::chrono::milliseconds(300);
  start();
  const int fd = connect();
  const std::string whole = modern("server/discover", json::object(), "x");
  const std::size_t body = whole.find("\r\n\r\n") + 4;
  send(fd, whole.substr(0, body));
  pollfd answer{fd, POLLIN, 0};
  // A byte each 20 ms: the body's 130 would take far more time than it has.
  for (std::size_t at = body; at < whole.size() && ::poll(&answer, 1, 20) == 0; ++at) {
    send(fd, whole.substr(at, 1));
  }
  EXPECT_TRUE(receive(fd).starts_with("HTTP/1.1 408 "));
  ::close(fd);
}

}  // namespace
}  // namespace mcp::http
