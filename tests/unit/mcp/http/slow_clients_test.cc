// Clients that read slowly, or send slowly, cost nobody else anything.
#include <poll.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <thread>
#include <utility>

#include "tests/unit/mcp/http/http_fixture.h"
#include "tests/unit/mcp/pipe_client.h"

namespace mcp::http {
namespace {

using fake::Event;
using nlohmann::json;

constexpr std::size_t kLargeAnswerBytes = 16U << 20;  // more than sockets hold
const json kLegacyVersion = {{"protocolVersion", "2024-11-05"}};
constexpr const char* kSseHead = " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice\r\n";

// Clients of the transport with one stream for all answers, too.
class SlowClients : public Http {
 protected:
  void add_large_tool() {
    server_.add_tool(fake::make_tool("large", [](const json&, CallContext&) {
      return fake::text_result(std::string(kLargeAnswerBytes, 'x'));
    }));
  }

  // The stream, and the path that takes its messages.
  std::pair<int, std::string> open_sse() {
    const int stream = connect();
    send(stream, std::string("GET /sse") + kSseHead + "Accept: text/event-stream\r\n\r\n");
    const std::string opened = receive(stream, "\n\n");
    const std::size_t at = opened.find("/messages");
    EXPECT_NE(at, std::string::npos) << opened;
    return {stream, at == std::string::npos ? "/" : opened.substr(at, opened.find('\n', at) - at)};
  }

  void tell(const std::string& path, json message) {
    message["jsonrpc"] = "2.0";
    const std::string body = message.dump();
    EXPECT_TRUE(ask("POST " + path + kSseHead +
                    "Connection: close\r\nContent-Type: application/json\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body)
                    .starts_with("HTTP/1.1 202 "));
  }

  // `come` has been read already.
  static void expect_answers(int stream, int count, std::string come = "") {
    const std::string mark = "\"id\":";
    std::size_t searched = 0;
    for (int answer = 0; answer < count; ++answer) {
      std::size_t at = come.find(mark, searched);
      while (at == std::string::npos) {
        const std::string more = receive_some(stream);
        ASSERT_FALSE(more.empty()) << answer << " of " << count << " answers";
        const std::size_t from = come.size() - std::min(come.size(), mark.size());
        come += more;
        at = come.find(mark, std::max(from, searched));
      }
      searched = at + mark.size();
    }
  }
};

TEST_F(SlowClients, AReaderThatTakesNothingIsGivenUp) {
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

TEST_F(SlowClients, LargeAnswersThatShareAStreamWaitForEachOther) {
  options_.bounds.stream_bytes = 256U << 10;
  add_large_tool();
  start();
  const auto [stream, path] = open_sse();
  tell(path, {{"id", 0}, {"method", "initialize"}, {"params", kLegacyVersion}});
  for (int id = 1; id <= 4; ++id) {
    tell(path, {{"id", id}, {"method", "tools/call"}, {"params", {{"name", "large"}}}});
  }
  expect_answers(stream, 5);
  ::close(stream);
}

TEST_F(SlowClients, AnswersWaitBehindALargeOneThatIsNotReadYet) {
  options_.bounds.stream_bytes = 256U << 10;
  add_large_tool();
  start();
  const auto [stream, path] = open_sse();
  tell(path, {{"id", 0}, {"method", "initialize"}, {"params", kLegacyVersion}});
  tell(path, {{"id", 1}, {"method", "tools/call"}, {"params", {{"name", "large"}}}});
  const std::string first = receive(stream, "xxxx");
  ASSERT_NE(first.find("xxxx"), std::string::npos);
  for (int id = 2; id <= 9; ++id) tell(path, {{"id", id}, {"method", "ping"}});
  expect_answers(stream, 10, first);
  ::close(stream);
}

TEST_F(SlowClients, AClientThatReadsSlowlyAndSendsNothingMoreCostsNothing) {
  server_.add_tool(fake::make_tool("large", [](const json&, CallContext&) {
    return fake::text_result(std::string(16U << 20, 'x'));
  }));
  start();
  const int fd = connect();
  send(fd, modern("tools/call", {{"name", "large"}}, "large"));
  EXPECT_TRUE(receive(fd, "HTTP/1.1 200").starts_with("HTTP/1.1 200"));
  EXPECT_EQ(::shutdown(fd, SHUT_WR), 0);
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // this time is measured
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 10) << "a thread is busy with it";
  ::close(fd);
}

TEST_F(SlowClients, AHeadAndABodyHaveTheirTime) {
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

TEST_F(SlowClients, ABodyThatComesByteByByteHasNoMoreTime) {
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
