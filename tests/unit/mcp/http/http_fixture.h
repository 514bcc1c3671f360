// A server in the process of the test: real sockets, tools of the tests, small bounds.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "mcp/http/service.h"
#include "tests/unit/mcp/fake_tools.h"

namespace mcp::http {

inline constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
inline constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

class Http : public ::testing::Test {
 protected:
  Http() : server_(fake::make_server()) {
    options_.address = *parse_address("127.0.0.1:0");
    options_.door.authenticate =
        [](std::string_view header) -> std::variant<Principal, auth::Challenge> {
      if (header.starts_with("Bearer ")) return Principal{std::string(header.substr(7)), {}};
      return auth::Challenge{401, "Bearer", "a token is needed"};
    };
  }

  void start() {
    auto started = Service::start(server_, options_);
    ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Service>>(started));
    service_ = std::get<std::unique_ptr<Service>>(std::move(started));
  }

  // With `holds_bytes`, the kernel keeps about so much of what comes, not ever more.
  int connect(int holds_bytes = 0) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{60, 0};
    EXPECT_EQ(::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    if (holds_bytes > 0) {
      EXPECT_EQ(::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &holds_bytes, sizeof holds_bytes), 0);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(service_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }

  static void send(int fd, const std::string& bytes) {
    EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  // Empty once the server has closed, or was silent for long.
  static std::string receive_some(int fd) {
    char buffer[64 << 10];
    const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
    return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }

  // Until the server closes, or `until` has come.
  static std::string receive(int fd, const std::string& until = "") {
    std::string all;
    std::size_t searched = 0;
    while (until.empty() || all.find(until, searched) == std::string::npos) {
      searched = all.size() - std::min(all.size(), until.size());
      const std::string more = receive_some(fd);
      if (more.empty()) break;
      all += more;
    }
    return all;
  }

  static std::string post(const nlohmann::json& message, const std::string& who,
                          const std::string& more) {
    const std::string body = message.dump();
    return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Connection: close\r\nAccept: application/json, text/event-stream\r\nAuthorization: "
           "Bearer " +
           who + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more + "\r\n" +
           body;
  }

  // One request of 2026-07-28 with the headers it needs.
  static std::string modern(const std::string& method, nlohmann::json params,
                            const std::string& name) {
    params["_meta"][kVersionKey] = "2026-07-28";
    params["_meta"][kCapabilitiesKey] = nlohmann::json::object();
    return post({{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}}, "alice",
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method +
                    "\r\nMcp-Name: " + name + "\r\n");
  }

  std::string ask(const std::string& request) {
    const int fd = connect();
    send(fd, request);
    const std::string answer = receive(fd);
    ::close(fd);
    return answer;
  }

  Server server_;
  ServeOptions options_;
  std::unique_ptr<Service> service_;
};

}  // namespace mcp::http
