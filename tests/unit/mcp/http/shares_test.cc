// Tests what all share: one who takes all that is there keeps nobody else out.
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/mcp/http/http_fixture.h"

namespace mcp::http {
namespace {

using nlohmann::json;

constexpr std::size_t kMiB = 1U << 20;
constexpr std::size_t kPart = 128U << 10;  // the bodies here are made of parts so large
constexpr int kLittleBytes = 64 << 10;     // that a socket holds of what is not read
constexpr int kPatienceMs = 60'000;

class Shares : public Http {
 protected:
  ~Shares() override {
    for (const int fd : greedy_) ::close(fd);
  }

  static std::string large_request(const std::string& who, std::size_t bytes) {
    json params = {{"_meta", {{kVersionKey, "2026-07-28"}, {kCapabilitiesKey, json::object()}}}};
    params["_meta"]["x"] = std::string(bytes, 'x');
    const json message = {
        {"jsonrpc", "2.0"}, {"id", 1}, {"method", "server/discover"}, {"params", params}};
    return post(message, who,
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n");
  }

  static in_port_t port_of(int fd, decltype(::getsockname)* get_name) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    const int got = get_name(fd, reinterpret_cast<sockaddr*>(&address), &size);
    return got == 0 && address.sin_family == AF_INET ? address.sin_port : in_port_t{0};
  }

  // Returns the server's end of the connection, which is in this process; -1: it is closed.
  static int servers_end(int client) {
    const in_port_t port = port_of(client, ::getsockname);
    int fd = 0;
    while (fd < 1024 && port_of(fd, ::getpeername) != port) ++fd;
    return fd < 1024 ? fd : -1;
  }

  // Whether the server has read all that was sent.
  static bool is_read(int client) {
    int unsent = 0;
    int unread = 0;
    if (::ioctl(client, SIOCOUTQ, &unsent) != 0 || unsent > 0) return false;
    return ::ioctl(servers_end(client), FIONREAD, &unread) != 0 || unread == 0;
  }

  static void wait_until(const std::function<bool()>& is_so) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
    while (!is_so() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  }

  // All of it but the last byte, or until it is refused; the server has read it then.
  void send_nearly_all(const std::string& request) {
    const int fd = connect();
    greedy_.push_back(fd);
    std::string_view left(request.data(), request.size() - 1);
    while (!left.empty()) {
      const ssize_t sent = ::send(fd, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
    wait_until([fd] { return is_read(fd); });
  }

  // The answer to one of those that have none, which it is not any more.
  std::string first_refused() {
    std::vector<pollfd> entries;
    for (const int fd : greedy_) entries.push_back({fd, POLLIN, 0});
    if (::poll(entries.data(), entries.size(), kPatienceMs) <= 0) return "none";
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [](const pollfd& entry) { return entry.revents != 0; });
    std::string answer = receive(found->fd, "\r\n\r\n");
    ::close(found->fd);
    std::erase(greedy_, found->fd);
    return answer;
  }

  // Two of alice's are all that there is room for.
  void expect_room_for_others() {
    start();
    const std::string much = large_request("alice", 2 * kPart);
    for (int i = 0; i < 3; ++i) send_nearly_all(much);
    EXPECT_TRUE(first_refused().starts_with("HTTP/1.1 503 ")) << "one of three";
    const std::string whole = large_request("bob", 2 * kPart);
    const int bob = connect();
    send(bob, whole.substr(0, whole.size() - 1));
    EXPECT_TRUE(first_refused().starts_with("HTTP/1.1 503 ")) << "of her that has more than he";
    send(bob, whole.substr(whole.size() - 1));
    EXPECT_TRUE(receive(bob).starts_with("HTTP/1.1 200 "));
    ::close(bob);
    EXPECT_EQ(greedy_.size(), 1U);
  }

  std::vector<int> greedy_;
};

TEST_F(Shares, BodiesThatTakeAllTheRoomGiveWay) {
  options_.bounds.bodies_bytes = 7 * kPart / 2;
  options_.bounds.small_body = kPart / 2;
  expect_room_for_others();
}

TEST_F(Shares, SlowBodiesGiveWay) {
  options_.bounds.slow_bodies = 2;
  expect_room_for_others();
}

TEST_F(Shares, BodiesThatHoldThreadsGiveWay) {
  options_.bounds.body_readers = 2;
  expect_room_for_others();
}

// All threads that she may have wait for her bodies, and one request for its turn.
TEST_F(Shares, WhoHasHerPartOfTheQueueIsRefusedAsARouteRefuses) {
  options_.bounds.threads = 8;
  options_.bounds.queue_each = 1;
  Route rest;
  rest.method = "POST";
  rest.path = "/rest";
  rest.answer = [](const Request&) { return Response(); };
  rest.refusal = [](int status, const std::string& message) {
    Response response;
    response.status = status;
    response.content_type = "application/json";
    response.body = "{\"said\":\"" + message + "\"}";
    return response;
  };
  options_.routes.push_back(std::move(rest));
  start();
  const std::string whole = large_request("alice", kPart);
  for (int i = 0; i < 7; ++i) send_nearly_all(whole);
  const auto ask_rest = [](const std::string& who) {
    return "POST /rest HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Request-Id: mine\r\n"
           "Content-Length: 1\r\nAuthorization: Bearer " +
           who + "\r\n\r\nx";
  };
  const auto expect_refused = [](const std::string& answer, const std::string& words) {
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 429 ")) << answer;
    EXPECT_NE(answer.find("\r\nRetry-After: 1\r\n"), std::string::npos) << answer;
    EXPECT_NE(answer.find(words), std::string::npos) << answer;
  };
  // One of two that are put off has the place, and nobody knows which comes first.
  greedy_.push_back(connect());
  send(greedy_.back(), ask_rest("alice"));
  greedy_.push_back(connect());
  send(greedy_.back(), ask_rest("alice"));
  const std::string refused = first_refused();
  expect_refused(refused, "{\"said\":\"too many calls at once: try again in 1 second\"}");
  EXPECT_NE(refused.find("\r\nX-Request-Id: mine\r\n"), std::string::npos) << refused;
  expect_refused(ask(large_request("alice", 1)), "too many calls at once: try again in 1 second");
  EXPECT_TRUE(ask(ask_rest("bob")).starts_with("HTTP/1.1 200 "));
}

TEST_F(Shares, ARefusalForWantOfRoomSaysWhenToTryAgain) {
  options_.bounds.bodies_bytes = 7 * kPart / 2;
  options_.bounds.small_body = kPart / 2;
  start();
  const std::string refused = ask(large_request("alice", 4 * kPart));
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
  EXPECT_NE(refused.find("\r\nRetry-After: 1\r\n"), std::string::npos) << refused;
  EXPECT_NE(refused.find("try again in 1 second"), std::string::npos) << refused;
}

TEST_F(Shares, OneAloneMayHaveAllTheRoom) {
  options_.bounds.bodies_bytes = 7 * kPart / 2;
  options_.bounds.small_body = kPart / 2;
  start();
  EXPECT_TRUE(ask(large_request("alice", 3 * kPart)).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask(large_request("alice", 4 * kPart)).starts_with("HTTP/1.1 503 "));
}

TEST_F(Shares, WhoReadsNothingGivesWayToWhoHasLess) {
  // Each has more than the kernel takes off the server's hands, 4 MiB, also when half is written.
  constexpr std::size_t kLarge = 16 * kMiB;
  constexpr std::size_t kMedium = 10 * kMiB;
  options_.bounds.waiting_bytes = 22 * kMiB;
  options_.bounds.write_patience = std::chrono::hours(1);  // which would end it, too
  for (const auto& [name, bytes] : {std::pair{"large", kLarge}, {"medium", kMedium}}) {
    server_.add_tool(fake::make_tool(name, [bytes = bytes](const json&, CallContext&) {
      return fake::text_result(std::string(bytes, 'x'));
    }));
  }
  start();
  const auto call = [](const std::string& who, const char* tool) {
    std::string request = modern("tools/call", {{"name", tool}}, tool);
    return request.replace(request.find("alice"), 5, who);
  };
  const auto content = [](const std::string& answer) {
    return static_cast<std::size_t>(std::count(answer.begin(), answer.end(), 'x'));
  };
  const int deaf = connect(kLittleBytes);
  const int slow = connect(kLittleBytes);
  send(deaf, call("alice", "large"));
  // The head may have come alone: only a part of the content says that all of it waits.
  std::string large = receive(deaf, "xxx");
  send(slow, call("bob", "medium"));
  std::string medium = receive(slow, "xxx");
  wait_until([deaf] { return servers_end(deaf) < 0; });
  large += receive(deaf);
  EXPECT_LT(content(large), kLarge) << "it has given way";
  medium += receive(slow);
  EXPECT_GE(content(medium), kMedium);
  ::close(deaf);
  ::close(slow);
}

TEST_F(Shares, StreamsThatTakeAllConnectionsGiveWay) {
  options_.bounds.connections = 20;
  start();
  for (std::size_t i = 0; i < options_.bounds.connections; ++i) {
    greedy_.push_back(connect());
    send(greedy_.back(),
         "GET /sse HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice\r\nAccept: "
         "text/event-stream\r\n\r\n");
    EXPECT_TRUE(receive(greedy_.back(), "\n\n").starts_with("HTTP/1.1 200 "));
  }
  EXPECT_TRUE(ask(large_request("bob", 1)).starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(receive(greedy_.front()), "") << "the oldest has ended";
  const int more = connect();
  pollfd last{greedy_.back(), POLLIN, 0};
  EXPECT_EQ(::poll(&last, 1, 0), 0) << "the newest goes on";
  ::close(more);
}

TEST_F(Shares, HeadsThatDoNotComeGiveWay) {
  options_.bounds.connections = 4;
  start();
  for (std::size_t i = 0; i < options_.bounds.connections; ++i) {
    greedy_.push_back(connect());
    send(greedy_.back(), "GET /healthz HTTP/1.1\r\n");
  }
  EXPECT_TRUE(ask(large_request("bob", 1)).starts_with("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace mcp::http
