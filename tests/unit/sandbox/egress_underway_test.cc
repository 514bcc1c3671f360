// Tests what a box is told of connections and requests while they are under way, and at its
// session's end.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

#include "base/unix_socket.h"
#include "sandbox/egress/resources.h"
#include "sandbox/egress/session.h"
#include "sandbox/egress/underway.h"

namespace {

using namespace sandbox::egress;
using nlohmann::json;

class UnderwayTest : public ::testing::Test {
 protected:
  UnderwayTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    box_ = base::UniqueFd(ends[0]);
    events_ = std::make_shared<BoxEvents>(context_,
                                          std::make_shared<BoxEvents::Channel>(context_, ends[1]));
    underway_ = std::make_shared<Underway>(context_, events_, meter_);
    meter_->set_counted([this] { underway_->count_soon(); });
  }
  ~UnderwayTest() override { underway_->end_all(); }

  // All that the box has been told.
  std::vector<json> heard() {
    std::vector<json> events;
    char packet[65536];
    while (true) {
      const ssize_t size = ::recv(box_.get(), packet, sizeof packet, MSG_DONTWAIT);
      if (size <= 0) return events;
      events.push_back(json::parse(std::string(packet, static_cast<std::size_t>(size))));
    }
  }
  void begin(Told& told, const ByteCount& sent) {
    told.begin(
        underway_, {{"event", "opened"}, {"host", "a.test"}},
        [&sent] {
          return Underway::Carried{sent, 0};
        },
        Underway::Clock::now());
  }

  asio::io_context context_{1};
  base::UniqueFd box_;
  std::shared_ptr<BoxEvents> events_;
  std::shared_ptr<Meter> meter_ = std::make_shared<Meter>([] {});
  std::shared_ptr<Underway> underway_;
};

TEST_F(UnderwayTest, IsToldOfAtItsBeginningAndOnceAtItsEnd) {
  ByteCount sent(meter_);
  {
    Told told;
    begin(told, sent);
    sent += 7;
    told.end({{"event", "closed"}});
    sent += 1;
    told.end({{"event", "closed"}});
  }
  const auto events = heard();
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0]["event"], "opened");
  EXPECT_EQ(events[1]["id"], events[0]["id"]);
  EXPECT_EQ(events[1]["sent"], 7);
  EXPECT_EQ(events[1]["used"], 7);
  underway_->end_all();
  EXPECT_EQ(heard().at(0)["used"], 1);
}

TEST_F(UnderwayTest, IsToldOfWhenItsSessionEndsFirst) {
  ByteCount first_sent(meter_);
  ByteCount second_sent(meter_);
  Told first;
  Told second;
  begin(first, first_sent);
  begin(second, second_sent);
  first_sent += 3;
  second_sent += 5;
  underway_->end_all();
  first.end({{"event", "closed"}});
  Told late;
  begin(late, first_sent);
  const auto events = heard();
  ASSERT_EQ(events.size(), 4);
  EXPECT_EQ(events[2]["sent"], 3);
  EXPECT_EQ(events[3]["sent"], 5);
  EXPECT_EQ(events[2].value("used", 0) + events[3].value("used", 0), 8);
}

TEST_F(UnderwayTest, BytesAreToldSoonThoughNothingEnds) {
  ByteCount sent(meter_);
  Told told;
  begin(told, sent);
  sent += 9;
  EXPECT_EQ(heard().size(), 1);
  std::vector<json> events;
  while (events.empty() && context_.run_one() > 0) events = heard();
  EXPECT_EQ(events.at(0)["event"], "used");
  EXPECT_EQ(events.at(0)["used"], 9);
  sent += 5 << 20;
  EXPECT_EQ(heard().at(0)["used"], 5 << 20) << "at once, where it is much";
}

TEST_F(UnderwayTest, RefusalsThatComeTooFastAreToldByTheirNumber) {
  for (int i = 0; i < 300; ++i) events_->tell_refusal("a.test", 0, {"no"}, {});
  std::int64_t told = 0;
  for (const json& event : heard()) told += event.value("more", 1);
  EXPECT_GE(told, 200);
  EXPECT_LT(told, 300);
  std::vector<json> events;
  while (events.empty() && context_.run_one() > 0) events = heard();
  EXPECT_EQ(told + events.at(0).at("more").get<std::int64_t>(), 300);
}

// The box takes no events while its journal is full.
class DoorOfAFullBox : public UnderwayTest {
 protected:
  ~DoorOfAFullBox() override {
    session_->end();
    box_.reset();
    context_.restart();
    context_.run_for(std::chrono::seconds(5));
  }
  void fill() {
    while (events_->has_told_all()) events_->tell({{"event", "used"}, {"used", 1}});
  }
  // Lets the door do what it can at once.
  void turn() {
    context_.restart();
    context_.poll();
  }
  void take_until(const std::function<bool()>& is_done) {
    while (!is_done()) {
      (void)heard();
      context_.restart();
      ASSERT_GT(context_.run_one_for(std::chrono::seconds(20)), 0);
    }
  }

  Resources resources_{10, Downloads({}, 0)};
  std::shared_ptr<Session> session_ = std::make_shared<Session>(context_, resources_, events_);
};

TEST_F(DoorOfAFullBox, ARequestWaitsUntilTheBoxHasTakenWhatItWasTold) {
  bool is_its_turn = false;
  const auto ask = [&] {
    is_its_turn = false;
    asio::co_spawn(
        context_,
        [](std::shared_ptr<Session> session, bool& is_turn) -> Task<void> {
          co_await session->pace();
          is_turn = true;
        }(session_, is_its_turn),
        asio::detached);
    turn();
  };
  ask();
  EXPECT_TRUE(is_its_turn);
  fill();
  ask();
  EXPECT_FALSE(is_its_turn);
  take_until([&] { return is_its_turn; });
}

TEST_F(DoorOfAFullBox, AConnectionToAHostWaits) {
  sandbox::NetworkQuota quota;
  quota.bytes_left = 0;
  session_->set_quota(quota);
  const auto connection =
      std::make_shared<Connection>(context_, Socket(context_, asio::ip::tcp::v4()), meter_);
  connection->host = "a.test";
  fill();
  std::string reason;
  asio::co_spawn(
      context_,
      [](std::shared_ptr<Session> session, std::shared_ptr<Connection> opened, std::string& why)
          -> Task<void> { why = co_await session->open(*opened); }(session_, connection, reason),
      asio::detached);
  turn();
  EXPECT_EQ(reason, "");
  take_until([&] { return !reason.empty(); });
  EXPECT_NE(reason.find("used up"), std::string::npos) << reason;
}

TEST_F(DoorOfAFullBox, WhoConnectsToTheDoorIsNotLetIn) {
  asio::ip::tcp::acceptor listening(context_, {asio::ip::address_v4::loopback(), 0});
  const auto place = listening.local_endpoint();
  fill();
  ASSERT_TRUE(
      session_->add_listener("proxy", place.port(), base::UniqueFd(listening.release())).ok());
  Socket client(context_);
  client.connect(place);
  client.non_blocking(true);
  asio::write(client, asio::buffer(std::string("CONNECT a.test:443 HTTP/1.1\r\n\r\n")));
  std::string answer(1000, '\0');
  error_code failure;
  const auto is_answered = [&] { return client.read_some(asio::buffer(answer), failure) > 0; };
  turn();
  EXPECT_FALSE(is_answered());
  EXPECT_EQ(failure, asio::error::would_block);
  take_until(is_answered);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 403")) << answer;
}

}  // namespace
