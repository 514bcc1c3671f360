// Fetching from a server on loopback that behaves as badly as a test wants.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "mcp/auth/https_fetch.h"

namespace {

using namespace mcp::auth;
using namespace std::chrono_literals;

// Takes one connection, reads until the end of the head, and lets `answer` have the socket.
class OneAnswer {
 public:
  explicit OneAnswer(std::function<void(int fd)> answer)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 1) != 0 ||
        ::getsockname(listener_, generic, &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this, answer = std::move(answer)] {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      char byte = 0;
      // One that speaks TLS has no such end: its first byte is enough.
      while (!request_.ends_with("\r\n\r\n") && !request_.starts_with('\x16') &&
             ::read(fd, &byte, 1) == 1) {
        request_ += byte;
      }
      answer(fd);
      ::close(fd);
    });
  }
  ~OneAnswer() {
    ::shutdown(listener_, SHUT_RDWR);  // ends a wait for a connection that never came
    thread_.join();
    ::close(listener_);
  }

  [[nodiscard]] std::string url(const std::string& scheme = "http") const {
    return scheme + "://127.0.0.1:" + std::to_string(port_) + "/jwks";
  }
  std::string request() {
    thread_.join();
    thread_ = std::jthread([] {});
    return request_;
  }

 private:
  int listener_;
  int port_ = 0;
  std::string request_;
  std::jthread thread_;
};

std::function<void(int)> says(const std::string& text) {
  return [text](int fd) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const ssize_t sent = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
  };
}

std::string outcome(const std::string& url, const FetchBounds& bounds = {}) {
  const auto fetched = fetch(url, bounds);
  if (const auto* refusal = std::get_if<Refusal>(&fetched)) return "refused: " + refusal->why;
  return std::get<std::string>(fetched);
}

TEST(Fetch, ABodyComesWhole) {
  OneAnswer server(says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"));
  EXPECT_EQ(outcome(server.url()), "hello");
  const std::string request = server.request();
  EXPECT_TRUE(request.starts_with("GET /jwks HTTP/1.1\r\n")) << request;
  EXPECT_EQ(request.find("Authorization"), std::string::npos);
  EXPECT_EQ(request.find("Accept-Encoding"), std::string::npos) << "nothing is to be unpacked";
}

TEST(Fetch, OtherStatusesAreRefused) {
  for (const char* status : {"404 Not Found", "500 Oops", "204 No Content", "201 Created"}) {
    OneAnswer server(says(std::string("HTTP/1.1 ") + status + "\r\nContent-Length: 0\r\n\r\n"));
    EXPECT_NE(outcome(server.url()).find("answered with status"), std::string::npos);
  }
}

TEST(Fetch, RedirectsAreNotFollowed) {
  bool reached = false;
  OneAnswer target([&reached](int) { reached = true; });
  OneAnswer server(
      says("HTTP/1.1 302 Found\r\nLocation: " + target.url() + "\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_NE(outcome(server.url()).find("status 302"), std::string::npos);
  EXPECT_FALSE(reached);
}

TEST(Fetch, SizeIsBounded) {
  const FetchBounds bounds{.bytes_max = 1000};
  const std::string head = "HTTP/1.1 200 OK\r\n\r\n";
  {
    OneAnswer server(says(head + std::string(1000, 'x')));
    EXPECT_EQ(outcome(server.url(), bounds).size(), 1000U);
  }
  {
    OneAnswer server(says(head + std::string(1'000'000, 'x')));
    EXPECT_NE(outcome(server.url(), bounds).find("sends too much"), std::string::npos);
  }
}

TEST(Fetch, TimeIsBounded) {
  const FetchBounds bounds{.time_max = 200ms};
  // Until the client gives up: a byte now and then would keep a wait for data alive.
  OneAnswer server([](int fd) {
    const std::string_view head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
    (void)::send(fd, head.data(), head.size(), MSG_NOSIGNAL);
    while (::send(fd, "x", 1, MSG_NOSIGNAL) == 1) std::this_thread::yield();
  });
  EXPECT_TRUE(outcome(server.url(), bounds).starts_with("refused: "));
}

TEST(Fetch, WhatIsNoHttpIsRefused) {
  for (const char* text :
       {"", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"}) {
    OneAnswer server(says(text));
    EXPECT_TRUE(outcome(server.url()).starts_with("refused: ")) << text;
  }
}

TEST(Fetch, APlainAnswerIsNoHttps) {
  OneAnswer server(says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"));
  EXPECT_TRUE(outcome(server.url("https")).starts_with("refused: "));
  EXPECT_TRUE(server.request().starts_with('\x16'));
}

TEST(Fetch, UrlsAreHttpsOrLoopback) {
  for (const char* good : {"https://example.com/jwks", "HTTPS://example.com", "http://localhost/",
                           "http://127.0.0.1:9000/jwks", "http://[::1]:9000/jwks"}) {
    EXPECT_FALSE(check_fetch_url(good)) << good;
  }
  for (const char* bad :
       {"", "jwks.json", "http://example.com/jwks", "file:///etc/passwd", "ftp://localhost/",
        "http://localhost.evil.com/", "http://127.0.0.1.evil.com", "http://localhost@evil.com/",
        "https://", "//example.com"}) {
    EXPECT_TRUE(check_fetch_url(bad)) << bad;
  }
}

}  // namespace
