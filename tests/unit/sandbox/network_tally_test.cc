// Whose what hutch-egress tells of is: of all runs that are on, or of the next.
#include "sandbox/box/network_tally.h"

#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/source_directory.h"

namespace {

using nlohmann::json;
using sandbox::NetworkUse;
using sandbox::box::NetworkTally;

class NetworkTallyTest : public ::testing::Test {
 protected:
  NetworkTally tally_{source_directory() + "/sandbox/egress"};
  sandbox::Run one_;
  sandbox::Run other_;
};

TEST_F(NetworkTallyTest, RunsThatAreOnAreToldTheSame) {
  for (int i = 0; i < 2; ++i) {
    tally_.add({{"event", "opened"}, {"id", 1}, {"host", "example.org"}, {"port", 443}},
               {&one_, &other_});
  }
  tally_.add({{"event", "closed"}, {"id", 1}, {"host", "example.org"}, {"port", 443}, {"used", 7}},
             {&one_, &other_});
  for (const sandbox::Run* run : {&one_, &other_}) {
    EXPECT_EQ(run->network.allowed, std::vector<std::string>{"example.org:443"});
    EXPECT_EQ(run->network.bytes, 7);
    EXPECT_TRUE(run->network.refused.empty());
  }
  EXPECT_EQ(tally_.take_between_runs(), 0);
}

TEST_F(NetworkTallyTest, ARefusalKeepsTheRuleThatWouldAllowIt) {
  tally_.add({{"event", "refused"},
              {"host", "a.test"},
              {"port", 8443},
              {"reason", "no"},
              {"missing_rule", "a.test:8443"},
              {"host_is_allowed", true}},
             {&one_});
  tally_.add({{"event", "refused"}, {"host", "b.test"}, {"reason", "no"}}, {&one_});
  ASSERT_EQ(one_.network.refused.size(), 2U);
  EXPECT_EQ(one_.network.refused[0].missing_rule, "a.test:8443");
  EXPECT_TRUE(one_.network.refused[0].host_is_allowed);
  EXPECT_EQ(one_.network.refused[1].missing_rule, "");
  EXPECT_FALSE(one_.network.refused[1].host_is_allowed);
}

TEST_F(NetworkTallyTest, NamesOfAddressesAreNotTold) {
  for (const char* host : {"185.100.19.198.in-addr.arpa", "8.b.d.0.1.0.0.2.ip6.arpa"}) {
    tally_.add({{"event", "refused"}, {"host", host}, {"reason", "no"}}, {&one_});
  }
  EXPECT_TRUE(one_.network.empty());
  tally_.add({{"event", "refused"}, {"host", "notin-addr.arpa"}, {"reason", "no"}}, {&one_});
  EXPECT_EQ(one_.network.refused.size(), 1U);
}

TEST_F(NetworkTallyTest, BytesBetweenRunsAreTheNextOnes) {
  tally_.add({{"event", "closed"}, {"id", 1}, {"host", "example.org"}, {"used", 7}}, {});
  tally_.add({{"event", "closed"}, {"id", 2}, {"host", "example.org"}, {"used", -3}}, {});
  tally_.add({{"event", "closed"}, {"id", 3}, {"host", "example.org"}, {"used", 5}}, {});
  EXPECT_EQ(tally_.take_between_runs(), 12);
  EXPECT_EQ(tally_.take_between_runs(), 0);
}

TEST_F(NetworkTallyTest, ListsAreBoundedAndNameEachHostOnce) {
  for (std::size_t i = 0; i < 2 * NetworkUse::kListedMax; ++i) {
    for (const char* event : {"opened", "refused", "refused"}) {
      tally_.add(
          {{"event", event}, {"host", "h" + std::to_string(i)}, {"reason", std::string(1000, 'r')}},
          {&one_});
    }
  }
  EXPECT_EQ(one_.network.allowed.size(), NetworkUse::kListedMax);
  ASSERT_EQ(one_.network.refused.size(), NetworkUse::kListedMax);
  EXPECT_EQ(one_.network.refused[1].host, "h1");
  EXPECT_LE(one_.network.refused[0].reason.size(), 310U);
  tally_.add({{"event", "refused"}, {"host", "more"}, {"more", 3}}, {&other_});
  EXPECT_TRUE(other_.network.empty()) << "it counts what is not told one by one";
}

}  // namespace
