// A request of HTTP/1.1 on its way through the door, with a host that is a thread of the test.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "sandbox/egress/http_head.h"
#include "sandbox/egress/http_relay.h"
#include "sandbox/egress/session.h"
#include "sandbox/egress/session_advice.h"

namespace {

using namespace sandbox::egress;

class EgressRelay : public ::testing::Test {
 protected:
  using TcpAcceptor = asio::ip::tcp::acceptor;

  EgressRelay() {
    const std::string host = "host.test:" + std::to_string(listener_.local_endpoint().port());
    base::SocketPair ends = base::make_socket_pair(SOCK_SEQPACKET).value();
    box_ = std::move(ends.theirs);
    const auto channel = std::make_shared<BoxEvents::Channel>(context_, ends.ours.release());
    session_ = std::make_shared<Session>(context_, resources_,
                                         std::make_shared<BoxEvents>(context_, channel));
    session_->set_rules({sandbox::parse_network_rule(host).value()});
    session_->set_addresses({{"host.test", asio::ip::address_v4::loopback()}});
    TcpAcceptor door(others_, {asio::ip::address_v4::loopback(), 0});
    client_.connect(door.local_endpoint());
    Socket accepted(context_);
    door.accept(accepted);
    connection_ = std::make_shared<Connection>(context_, std::move(accepted), meter_);
    connection_->host = "host.test";
    connection_->port = listener_.local_endpoint().port();
    request_ = "GET / HTTP/1.1\r\nHost: " + host + "\r\n";
  }

  // Returns all that the client gets until its connection ends, for a request with these fields
  // that the host answers with `answer`.
  std::string ask(const std::string& fields, const std::string& answer) {
    asio::co_spawn(
        context_,
        relay_http(session_, connection_, boost::beast::flat_buffer(kBufferBytesMax), nullptr),
        asio::detached);
    std::thread host([&] { answer_as_host(answer); });
    std::thread door([this] { context_.run(); });
    error_code unused;
    std::string got;
    asio::write(client_, asio::buffer(request_ + fields + "\r\n"), unused);
    asio::read(client_, asio::dynamic_buffer(got), unused);
    client_.close(unused);
    (void)::shutdown(listener_.native_handle(), SHUT_RDWR);  // where nobody has come to the host
    host.join();
    asio::post(context_, [this] { session_->end(); });
    door.join();
    return got;
  }

  // Has the client ask for this host, whatever the rules say of it.
  void ask_for(const std::string& host) {
    connection_->host = host;
    const std::string port = std::to_string(connection_->port);
    request_ = "GET /x HTTP/1.1\r\nHost: " + host + ":" + port + "\r\n";
  }
  // Allows the host no other requests than those with this method.
  void allow_only(const std::string& method) {
    const std::string port = std::to_string(connection_->port);
    session_->set_rules(
        {sandbox::parse_network_rule(method + " host.test:" + port + "/*").value()});
  }
  // Returns what the box was told of the first refusal.
  nlohmann::json refusal() {
    std::array<char, 4096> packet{};
    while (true) {
      const ssize_t got = ::recv(box_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
      if (got <= 0) return {};
      auto event = nlohmann::json::parse(std::string(packet.data(), static_cast<size_t>(got)));
      if (event.value("event", "") == "refused") return event;
    }
  }
  std::string port() const { return std::to_string(connection_->port); }

  std::int64_t received() const { return connection_->received; }
  std::int64_t counted() const { return meter_->untold(); }
  std::int64_t sent() const { return connection_->sent; }
  int times_used_up() const { return times_used_up_; }
  void leave(std::int64_t bytes) { meter_->set(bytes); }

 private:
  void answer_as_host(const std::string& answer) {
    error_code failure;
    Socket socket(others_);
    std::string asked;
    listener_.accept(socket, failure);
    asio::read_until(socket, asio::dynamic_buffer(asked), "\r\n\r\n", failure);
    if (failure) return;
    asio::write(socket, asio::buffer(answer), failure);
    socket.shutdown(Socket::shutdown_send, failure);
    asio::read(socket, asio::dynamic_buffer(asked), failure);
  }

  asio::io_context context_{1};
  asio::io_context others_{1};  // nothing waits in it
  TcpAcceptor listener_{others_, {asio::ip::address_v4::loopback(), 0}};
  Socket client_{others_};
  Resources resources_{10, Downloads({}, 0)};
  base::UniqueFd box_;
  int times_used_up_ = 0;
  std::shared_ptr<Meter> meter_ = std::make_shared<Meter>([this] { ++times_used_up_; });
  std::shared_ptr<Session> session_;
  std::shared_ptr<Connection> connection_;
  std::string request_;
};

constexpr const char* kAskForWebSocket = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
constexpr const char* kSwitch =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
constexpr const char* kHint = "HTTP/1.1 103 Early Hints\r\n\r\n";
constexpr const char* kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

std::string hints(int count) {
  std::string text;
  while (count-- > 0) text += kHint;
  return text;
}

// The code that is refused is told what helps, the box which rule would.
TEST_F(EgressRelay, ARefusalByTheRulesNamesTheMissingOne) {
  ask_for("other.test");
  const std::string got = ask("", "");
  EXPECT_NE(got.find("not allowed by this session's network policy. Whoever runs hutch can allow"),
            std::string::npos)
      << got;
  const auto told = refusal();
  EXPECT_EQ(told.value("reason", ""), kNotAllowed) << told;
  EXPECT_EQ(told.value("missing_rule", ""), "other.test:" + port()) << told;
  EXPECT_FALSE(told.contains("host_is_allowed")) << told;
}

TEST_F(EgressRelay, ARefusedRequestIsToldApartFromARefusedHost) {
  allow_only("POST");
  const std::string got = ask("", "");
  EXPECT_NE(got.find("GET / of this host is not allowed by"), std::string::npos) << got;
  EXPECT_NE(got.find("sessions allow"), std::string::npos) << got;
  const auto told = refusal();
  EXPECT_EQ(told.value("missing_rule", ""), "host.test:" + port()) << told;
  EXPECT_TRUE(told.value("host_is_allowed", false)) << told;
}

TEST_F(EgressRelay, WhatNoRuleWouldMendNamesNone) {
  const std::string got = ask("Host: third.test\r\n", "");
  EXPECT_EQ(got.find("Whoever runs hutch"), std::string::npos) << got;
  const auto told = refusal();
  EXPECT_NE(told.value("reason", ""), "") << told;
  EXPECT_FALSE(told.contains("missing_rule")) << told;
}

// One write, so that the door reads the first bytes together with the head.
TEST_F(EgressRelay, BytesRightBehindASwitchAreCountedAsOthersAre) {
  const std::string early(300, 'e');
  const std::string got = ask(kAskForWebSocket, kSwitch + early);
  EXPECT_TRUE(got.starts_with("HTTP/1.1 101 ")) << got;
  EXPECT_TRUE(got.ends_with(early)) << got;
  EXPECT_EQ(received(), static_cast<std::int64_t>(got.size()));
  EXPECT_EQ(counted(), sent() + received());
}

TEST_F(EgressRelay, BytesRightBehindASwitchUseUpAQuota) {
  leave(300);  // more than both heads have
  (void)ask(kAskForWebSocket, kSwitch + std::string(300, 'e'));
  EXPECT_LT(sent() + received() - 300, 300);
  EXPECT_EQ(times_used_up(), 1);
}

TEST_F(EgressRelay, AHostMayGiveSomeInterimAnswers) {
  const std::string got = ask("Connection: close\r\n", hints(kInterimAnswersMost) + kAnswer);
  EXPECT_TRUE(got.starts_with("HTTP/1.1 103 ")) << got;
  EXPECT_NE(got.find("HTTP/1.1 200 "), std::string::npos) << got;
  EXPECT_TRUE(got.ends_with("\r\n\r\nok")) << got;
}

TEST_F(EgressRelay, AHostDoesNotGiveInterimAnswersWithoutAnEnd) {
  const std::string got = ask("Connection: close\r\n", hints(kInterimAnswersMost + 1) + kAnswer);
  int given = 0;
  for (std::size_t at = got.find("HTTP/1.1 103 "); at != std::string::npos;
       at = got.find("HTTP/1.1 103 ", at + 1)) {
    ++given;
  }
  EXPECT_EQ(given, kInterimAnswersMost) << got;
  EXPECT_NE(got.find("HTTP/1.1 502 "), std::string::npos) << got;
  EXPECT_EQ(got.find("HTTP/1.1 200 "), std::string::npos) << got;
}

}  // namespace
