#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tools/ports/head.h"
#include "tools/ports/link.h"
#include "tools/ports/pump.h"

namespace tools::ports {
namespace {

using std::chrono_literals::operator""s;

constexpr std::chrono::seconds kPatience{20};

// Until it has come; what has come by the end where it does not.
std::string read_until(int fd, const std::string& words) {
  std::string come;
  while (come.find(words) == std::string::npos) {
    pollfd entry{fd, POLLIN, 0};
    if (::poll(&entry, 1, static_cast<int>(kPatience.count()) * 1000) <= 0) break;
    char buffer[4096];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got <= 0) break;
    come.append(buffer, static_cast<std::size_t>(got));
  }
  return come;
}

void say(int fd, const std::string& text) { ASSERT_TRUE(base::write_all(fd, text).ok()); }

class PumpTest : public ::testing::Test {
 protected:
  // The other ends of a pair.
  struct Ends {
    base::UniqueFd client;
    base::UniqueFd server;
  };
  Ends add(Pair pair = {}) {
    auto client = base::make_socket_pair(SOCK_STREAM).value();
    auto server = base::make_socket_pair(SOCK_STREAM).value();
    pair.client = std::move(client.theirs);
    pair.server = std::move(server.theirs);
    EXPECT_TRUE(pump_->add(std::move(pair)).ok());
    return {std::move(client.ours), std::move(server.ours)};
  }

  std::unique_ptr<Pump> pump_ = Pump::start().value();
};

TEST_F(PumpTest, MovesBytesBothWaysAndTellsOfTheEnd) {
  const Ends ends = add({.to_server = "first "});
  say(ends.client.get(), "then");
  EXPECT_EQ(read_until(ends.server.get(), "then"), "first then");
  ASSERT_EQ(::shutdown(ends.client.get(), SHUT_WR), 0);
  EXPECT_EQ(read_until(ends.server.get(), "more"), "") << "the server hears that no more comes";
  say(ends.server.get(), "late answer");
  EXPECT_EQ(read_until(ends.client.get(), "answer"), "late answer");
  ASSERT_EQ(::shutdown(ends.server.get(), SHUT_RDWR), 0);
  EXPECT_EQ(read_until(ends.client.get(), "more"), "");
}

TEST_F(PumpTest, WhatIsLargeComesWhole) {
  Ends ends = add();
  const std::string much(3'000'000, 'x');
  std::jthread sender([fd = ends.client.get(), &much] { say(fd, much + "!"); });
  EXPECT_EQ(read_until(ends.server.get(), "!"), much + "!");
}

TEST_F(PumpTest, AServerThatIsGoneBeforeItsOpeningFails) {
  const Ends ends = add(
      {.opening = [](std::string&) { return std::optional<std::string>(); }, .failure = "failed"});
  say(ends.server.get(), "half of a head");
  ASSERT_EQ(::shutdown(ends.server.get(), SHUT_RDWR), 0);
  EXPECT_EQ(read_until(ends.client.get(), "failed"), "failed");
}

TEST_F(PumpTest, WhatAServerSaidBeforeItTookNoMoreStillCounts) {
  const Ends ends = add();
  say(ends.server.get(), "no");
  ASSERT_EQ(::shutdown(ends.server.get(), SHUT_RDWR), 0);
  const std::string body(1'000'000, 'x');
  std::jthread sender([fd = ends.client.get(), &body] { (void)base::write_all(fd, body); });
  EXPECT_EQ(read_until(ends.client.get(), "more"), "no");
}

std::optional<std::string> never(std::string& /*come*/) { return std::nullopt; }

TEST_F(PumpTest, AClientThatReadsLittleHoldsLittle) {
  auto client = base::make_socket_pair(SOCK_STREAM).value();
  auto server = base::make_socket_pair(SOCK_STREAM).value();
  const int least = 1;  // the kernel makes some kilobytes of it
  ASSERT_EQ(::setsockopt(client.theirs.get(), SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
  Pair pair;
  pair.client = std::move(client.theirs);
  pair.server = std::move(server.theirs);
  ASSERT_TRUE(pump_->add(std::move(pair)).ok());
  // So much more than can be in between, that with all of it kept this would be seen.
  constexpr std::size_t kMuch = std::size_t{96} << 20;
  const auto used = [] {
    rusage usage{};
    EXPECT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
  };
  const auto before = used();
  std::jthread sender([fd = server.ours.get()] {
    const std::string piece(1 << 20, 'x');
    for (std::size_t sent = 0; sent < kMuch; sent += piece.size()) say(fd, piece);
  });
  std::size_t come = 0;
  std::vector<char> buffer(1 << 20);
  while (come < kMuch) {
    const ssize_t got = ::read(client.ours.get(), buffer.data(), buffer.size());
    ASSERT_GT(got, 0);
    come += static_cast<std::size_t>(got);
  }
  EXPECT_LT(used() - before, 32 << 10);
}

TEST_F(PumpTest, AServerThatSaysNothingFails) {
  const Ends ends = add({.opening = never, .failure = "failed", .opening_patience = 0s});
  EXPECT_EQ(read_until(ends.client.get(), "failed"), "failed");
  const Ends slow = add({.opening = never, .failure = "failed", .opening_patience = 0s});
  say(slow.server.get(), "a line\nmore");
  EXPECT_EQ(read_until(slow.client.get(), "failed"), "failed");
}

TEST_F(PumpTest, APairThatIsQuietForLongIsOver) {
  const Ends ends = add({.quiet_patience = 0s});
  EXPECT_EQ(read_until(ends.client.get(), "more"), "");
  EXPECT_EQ(read_until(ends.server.get(), "more"), "");
}

TEST_F(PumpTest, AnAnswerWithoutAServerIsReadWhole) {
  auto client = base::make_socket_pair(SOCK_STREAM).value();
  Pair pair;
  pair.client = std::move(client.theirs);
  pair.failure = std::string(1'000'000, 'x') + "!";
  ASSERT_TRUE(pump_->add(std::move(pair)).ok());
  // Bytes that it sends meanwhile lead nowhere, and hold nothing up.
  std::jthread sender([fd = client.ours.get()] { (void)base::write_all(fd, "a request's body"); });
  EXPECT_EQ(read_until(client.ours.get(), "!").size(), 1'000'001U);
  EXPECT_EQ(read_until(client.ours.get(), "more"), "");
}

TEST_F(PumpTest, LooksAtAHeadOnlyWhenThereIsMoreOfIt) {
  int looks = 0;
  const Ends ends = add({.opening =
                             [&looks](std::string&) {
                               ++looks;
                               return std::optional<std::string>();
                             },
                         .failure = "failed"});
  for (int i = 0; i < 1000; ++i) say(ends.server.get(), "a: b\r\n");
  say(ends.server.get(), "\r\n");
  ASSERT_EQ(::shutdown(ends.server.get(), SHUT_WR), 0);
  EXPECT_EQ(read_until(ends.client.get(), "failed"), "failed");
  EXPECT_LE(looks, 3);
}

TEST_F(PumpTest, GivesBackItsRoom) {
  auto room = std::make_shared<int>();
  const std::weak_ptr<int> held = room;
  { const Ends ends = add({.room = std::exchange(room, nullptr)}); }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!held.expired() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(held.expired());
}

TEST_F(PumpTest, HasABound) {
  std::vector<Ends> all;
  for (std::size_t i = 0; i < Pump::kPairsMax; ++i) all.push_back(add());
  auto more = base::make_socket_pair(SOCK_STREAM).value();
  Pair pair;
  pair.client = std::move(more.ours);
  pair.server = std::move(more.theirs);
  const auto refused = pump_->add(std::move(pair));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, base::Error::Kind::kLimit);
  all.clear();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  bool is_free = false;
  while (!is_free && std::chrono::steady_clock::now() < deadline) {
    auto ends = base::make_socket_pair(SOCK_STREAM).value();
    Pair next;
    next.client = std::move(ends.ours);
    next.server = std::move(ends.theirs);
    is_free = pump_->add(std::move(next)).ok();
  }
  EXPECT_TRUE(is_free);
}

TEST(PortHead, HidesWhatIsOurs) {
  const Inward how{.port = 80,
                   .prefix = "/ports/s/80",
                   .keeps_origin = false,
                   .secrets = {"Authorization"},
                   .secret_cookies = {}};
  const auto head = head_for_server(
      "POST /ports/s/80/a%20b?c HTTP/1.1\r\nHost: h\r\nauthorization: Bearer x\r\nCookie: "
      "a=1\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\nConnection: "
      "keep-alive\r\n\r\n",
      how);
  ASSERT_TRUE(head.ok()) << head.error().message;
  EXPECT_TRUE(head.value().waits_to_continue);
  EXPECT_FALSE(head.value().upgrades);
  const std::string& text = head.value().text;
  EXPECT_TRUE(text.starts_with("POST /a%20b?c HTTP/1.1\r\n")) << text;
  for (const char* gone : {"Bearer", "Cookie", "Expect", "keep-alive"}) {
    EXPECT_EQ(text.find(gone), std::string::npos) << gone;
  }
  for (const char* there : {"Host: localhost:80\r\n", "Connection: close\r\n",
                            "Content-Length: 99999999999\r\n", "X-Forwarded-Host: h\r\n"}) {
    EXPECT_NE(text.find(there), std::string::npos) << there << text;
  }
  EXPECT_FALSE(head_for_server("GET /other HTTP/1.1\r\nHost: h\r\n\r\n", how).ok());
}

// They are told from a server's own, and no other header is looked at.
TEST(PortHead, HidesTokensOfHutchAtAHostOfItsOwn) {
  const std::string digits(96, 'a');
  const auto text_of = [](const std::string& lines) {
    const auto head = head_for_server("GET / HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n",
                                      {.port = 80, .keeps_origin = true});
    return head.ok() ? head.value().text : head.error().message;
  };
  for (const std::string& line :
       {"Authorization: Bearer hutch_" + digits, "authorization: bearer   e2b_" + digits,
        "x-api-key: hutch_" + digits, "X-API-Key: x\r\nX-API-Key: hutch_" + digits,
        "Authorization: Basic x, Bearer hutch_hutch_" + digits}) {
    EXPECT_EQ(text_of(line + "\r\n").find(digits), std::string::npos) << line;
  }
  for (const char* line : {"Authorization: Bearer hutch_theirs\r\n", "X-API-Key: e2b_\r\n",
                           "Authorization: Basic dXNlcjpodXRjaF8=\r\n"}) {
    EXPECT_NE(text_of(line).find(line), std::string::npos) << line;
  }
}

TEST(PortHead, KeepsCookiesButOurs) {
  const Inward how{.port = 80,
                   .prefix = "",
                   .keeps_origin = true,
                   .secrets = {},
                   .secret_cookies = {"hutch_access"}};
  const auto head = head_for_server(
      "GET / HTTP/1.1\r\nHost: h\r\nCookie: a=1; hutch_access=k;hutch_accessory=2\r\n\r\n", how);
  ASSERT_TRUE(head.ok());
  EXPECT_NE(head.value().text.find("Cookie: a=1; hutch_accessory=2\r\n"), std::string::npos)
      << head.value().text;
}

TEST(PortHead, ClosesAfterTheAnswer) {
  const auto opening = head_for_client(false, {});
  std::string come = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nConnection: keep-alive\r\n";
  auto opened = opening(come);
  ASSERT_TRUE(opened.ok());
  EXPECT_FALSE(opened.value().has_value()) << "its head is not whole";
  come += "Content-Length: 2\r\n\r\nhi";
  opened = opening(come);
  ASSERT_TRUE(opened.ok() && opened.value().has_value());
  EXPECT_TRUE(opened.value()->starts_with("HTTP/1.1 200 OK\r\n")) << *opened.value();
  EXPECT_NE(opened.value()->find("\r\nConnection: close\r\n"), std::string::npos);
  EXPECT_EQ(opened.value()->find("keep-alive"), std::string::npos);
  EXPECT_EQ(come, "hi");
  std::string switches = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n";
  EXPECT_FALSE(opening(switches).ok());
  for (std::string none : {"SSH-2.0\r\n\r\n", "HTTP/1.1 x\r\n\r\n", "\r\n\r\n\r\n"}) {
    const auto wrong = opening(none);
    EXPECT_FALSE(wrong.ok() && wrong.value().has_value()) << none;
  }
  std::string endless = "HTTP/1.1 200 OK\r\nA: " + std::string(100'000, 'x');
  EXPECT_FALSE(opening(endless).ok());
}

std::string answered(std::string head, const Inward& how) {
  const auto opened = head_for_client(false, how)(head);
  return opened.ok() && opened.value() ? *opened.value() : "";
}

TEST(PortHead, CookiesStayWithTheirHost) {
  const std::string head = answered(
      "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Domain=.localhost; Path=/; HttpOnly\r\n"
      "Set-Cookie: domain=2;\tdomain = x\r\nSet-Cookie: c=3\r\n\r\n",
      {.port = 80, .keeps_origin = true});
  for (const char* there : {"Set-Cookie: a=1; Path=/; HttpOnly\r\n", "Set-Cookie: domain=2\r\n",
                            "Set-Cookie: c=3\r\n"}) {
    EXPECT_NE(head.find(there), std::string::npos) << head;
  }
  EXPECT_EQ(head.find("localhost"), std::string::npos) << head;
  EXPECT_EQ(head.find("domain = x"), std::string::npos) << head;
}

std::string names_in(const std::string& head) {
  std::string names;
  for (std::size_t at = head.find("\r\n") + 2; at + 2 < head.size();
       at = head.find("\r\n", at) + 2) {
    names += head.substr(at, head.find(':', at) - at) + " ";
  }
  return names;
}

// By a browser, or by the proxy in front.
TEST(PortHead, NothingIsObeyedElsewhere) {
  const std::string head =
      "HTTP/1.1 200 OK\r\nX-A: kept\r\nClear-Site-Data: \"*\"\r\nstrict-transport-security: "
      "max-age=9; includeSubDomains\r\nAlt-Svc: h3=\":1\"\r\nAlt-Svc: h2=\":1\"\r\n"
      "Public-Key-Pins: x\r\nPublic-Key-Pins-Report-Only: x\r\nExpect-CT: x\r\n"
      "Service-Worker-Allowed: /\r\nNEL: {}\r\nReport-To: {}\r\nReporting-Endpoints: a=\"/\"\r\n"
      "Origin-Agent-Cluster: ?1\r\nSecure-Session-Registration: (ES256)\r\n"
      "Sec-Session-Registration: (ES256)\r\nX-Accel-Redirect: /internal\r\n"
      "x-accel-expires: 9\r\nX-Sendfile: /etc/passwd\r\nX-LIGHTTPD-send-file: /etc/passwd\r\n"
      "X-Reproxy-URL: http://x/\r\nTrailer: Clear-Site-Data\r\nAccept-CH: DPR\r\n"
      "Access-Control-Allow-Origin: *\r\nWWW-Authenticate: Basic\r\nLink: </a>; rel=preload\r\n"
      "Speculation-Rules: \"/r\"\r\nSet-Login: logged-in\r\nUse-As-Dictionary: match=\"/*\"\r\n"
      "Critical-CH: DPR\r\nSupports-Loading-Mode: credentialed-prerender\r\n\r\n";
  EXPECT_EQ(names_in(answered(head, {.port = 80, .keeps_origin = true})),
            "X-A Accept-CH Access-Control-Allow-Origin WWW-Authenticate Link Speculation-Rules "
            "Set-Login Use-As-Dictionary Critical-CH Supports-Loading-Mode Connection ");
  EXPECT_EQ(names_in(answered(head, {.port = 80, .prefix = "/ports/s/80"})),
            "X-A Link Connection Content-Security-Policy ");
  EXPECT_EQ(
      names_in(answered("HTTP/1.1 103 Early Hints\r\nAlt-Svc: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
                        {.port = 80, .keeps_origin = true})),
      "Connection ");
  const auto inward = head_for_server("GET / HTTP/1.1\r\nHost: h\r\nTE: trailers\r\n\r\n",
                                      {.port = 80, .keeps_origin = true});
  ASSERT_TRUE(inward.ok());
  EXPECT_EQ(inward.value().text.find("trailers"), std::string::npos) << inward.value().text;
}

// These are such a name to one reader and none to another.
TEST(PortHead, NamesHaveOneReading) {
  for (const char* line : {"Alt-Svc : x", "Alt-Svc\t: x", " Alt-Svc: x", "A: b\n\rAlt-Svc: x"}) {
    const std::string head = answered("HTTP/1.1 200 OK\r\n" + std::string(line) + "\r\n\r\n",
                                      {.port = 80, .keeps_origin = true});
    EXPECT_EQ(head.find("Alt-Svc"), std::string::npos) << head;
  }
}

TEST(PortHead, TurnsWhereItLeads) {
  const auto led = [](const std::string& location, const std::string& prefix) {
    const std::string head = answered("HTTP/1.1 302 Found\r\nLocation: " + location + "\r\n\r\n",
                                      {.port = 80, .prefix = prefix});
    const std::size_t begin = head.find("Location: ") + 10;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  };
  EXPECT_EQ(led("/a", "/p"), "/p/a");
  EXPECT_EQ(led("http://localhost:80/a", "/p"), "/p/a");
  EXPECT_EQ(led("http://127.0.0.1:80", "/p"), "/p/");
  EXPECT_EQ(led("http://localhost:80/a?b", ""), "/a?b");
  for (const char* same :
       {"http://localhost:801/a", "https://example.org/", "//example.org/", "a"}) {
    EXPECT_EQ(led(same, "/p"), same);
  }
}

TEST(PortLink, NeedsAName) {
  EXPECT_EQ(host_url("http://127.0.0.1:8931", "session_a", 80),
            "http://80-session-a.localhost:8931/");
  EXPECT_EQ(host_url("https://hutch.example.org/sub", "session_a", 80),
            "https://80-session-a.hutch.example.org/");
  EXPECT_EQ(host_url("http://[::1]:1", "s", 80), "http://80-s.localhost:1/");
  for (const char* none : {"http://192.0.2.1:80", "https://[2001:db8::1]", "", "unix:/x"}) {
    EXPECT_EQ(host_url(none, "s", 80), std::nullopt) << none;
  }
  EXPECT_EQ(without_access("//evil.example/?a=1&hutch_access=x&a=2&hutch_accessory"),
            "/evil.example/?a=1&a=2&hutch_accessory");
  EXPECT_EQ(without_access("/?hutch_access=x"), "/");
  EXPECT_EQ(without_access("///"), "/");
  EXPECT_EQ(without_access(""), "/");
}

}  // namespace
}  // namespace tools::ports
