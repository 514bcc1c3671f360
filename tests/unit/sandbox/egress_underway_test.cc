// What a box is told of connections and requests while they are under way, and at its session's
// end.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>

#include "base/unix_socket.h"
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

}  // namespace
