// The network of a box changes while the box is up, or stays as it was. The door here is none.
#include "sandbox/box/network_access.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/unix_socket.h"
#include "sandbox/box/network.h"
#include "sandbox/wire/build_id.h"
#include "sandbox/wire/egress_protocol.h"
#include "tests/support/temporary_directory.h"

namespace {

using base::Error;
using sandbox::NetworkRule;
using sandbox::box::EventLoop;
using sandbox::box::JournalRoom;
using sandbox::box::NetworkAccess;
using Rules = std::vector<NetworkRule>;
using Sockets = base::Result<std::vector<base::UniqueFd>>;

NetworkRule rule(const char* text) { return sandbox::parse_network_rule(text).value(); }

class NetworkAccessTest : public ::testing::Test {
 protected:
  NetworkAccessTest() {
    spec_.egress_directory = folder_.path();
    const std::string place = folder_.path() + "/" + std::string(sandbox::wire::kBuildId);
    EXPECT_EQ(::mkdir(place.c_str(), 0700), 0);
    const auto directory = base::open_file(AT_FDCWD, place, O_RDONLY | O_DIRECTORY).value();
    listener_ =
        base::listen_at(directory.get(), sandbox::wire::kEgressSocket, SOCK_SEQPACKET).value();
  }

  // Returns as many sockets as a plan of these rules asks for.
  Sockets sockets_for(const Rules& rules) {
    std::vector<base::UniqueFd> sockets;
    while (sockets.size() < sandbox::box::listeners_of(rules).size()) {
      sockets.emplace_back(::dup(listener_.get()));
    }
    return sockets;
  }

  TemporaryDirectory folder_;
  sandbox::BoxSpec spec_;
  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  base::UniqueFd session_ =
      base::open_file(AT_FDCWD, folder_.path(), O_RDONLY | O_DIRECTORY).value();
  base::UniqueFd listener_;
  int asked_ = 0;
  std::function<Sockets()> listens_ = [] {
    return Sockets(base::error(Error::Kind::kInternal, "init does not answer"));
  };
  std::vector<std::string> told_;
  NetworkAccess network_{
      {.loop = *loop_,
       .spec = spec_,
       .session_fd = session_.get(),
       .listen =
           [this](const std::string&) {
             ++asked_;
             return listens_();
           },
       .around = [] { return JournalRoom::Around(); },
       .told = [this](const nlohmann::json& event) { told_.push_back(event.at("event")); }}};
};

TEST_F(NetworkAccessTest, ThereIsNoneWithoutRules) {
  ASSERT_TRUE(network_.open({}).ok());
  network_.catch_up();
  network_.end();
  EXPECT_EQ(network_.journal_bytes(), 0);
  EXPECT_EQ(asked_, 0);
}

TEST_F(NetworkAccessTest, ABoxInWhichNothingListensStaysAsItWas) {
  const auto range = sandbox::parse_address_range("10.0.0.0/8").value();
  spec_.denied_addresses = {range};
  const auto allowed = network_.allow({rule("a.test")}, /*take_back=*/false);
  ASSERT_FALSE(allowed.ok());
  EXPECT_EQ(allowed.error().kind, Error::Kind::kUnsupported);
  const auto set =
      network_.set({.rules = {rule("a.test")}, .credentials = {}, .denied_addresses = {}});
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().kind, Error::Kind::kUnsupported);
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(spec_.network, Rules{});
  EXPECT_EQ(spec_.denied_addresses, std::vector{range});
}

TEST_F(NetworkAccessTest, NobodyLooksIntoTlsOfABoxThatTrustsNoDoor) {
  const NetworkRule limited = rule("GET a.test/v1/*");
  EXPECT_FALSE(network_.allow({limited}, /*take_back=*/false).ok());
  EXPECT_FALSE(network_.set({.rules = {limited}, .credentials = {}, .denied_addresses = {}}).ok());
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(spec_.network, Rules{});
}

TEST_F(NetworkAccessTest, ABoxThatHadNoneIsGivenOneAndHearsWhatItsDoorTells) {
  listens_ = [this] { return sockets_for({rule("a.test")}); };
  ASSERT_TRUE(network_.allow({rule("a.test")}, /*take_back=*/false).ok());
  ASSERT_TRUE(network_.allow({rule("b.test")}, /*take_back=*/false).ok());
  EXPECT_EQ(asked_, 1) << "what listens there does so for all hosts";
  EXPECT_EQ(spec_.network, (Rules{rule("a.test"), rule("b.test")}));
  ASSERT_TRUE(network_.allow({rule("a.test")}, /*take_back=*/true).ok());
  EXPECT_EQ(spec_.network, Rules{rule("b.test")});

  base::UniqueFd door(::accept(listener_.get(), nullptr, nullptr));
  const std::string begun = nlohmann::json({{"event", "begun"}, {"id", 1}}).dump();
  ASSERT_TRUE(base::send_packet(door.get(), begun, nullptr, 0).ok());
  network_.catch_up();
  EXPECT_EQ(told_, std::vector<std::string>{"begun"});
  EXPECT_GT(network_.journal_bytes(), 0);
  door.reset();
  network_.end();
  EXPECT_EQ(told_.back(), "lost");
}

}  // namespace
