// What sessions and their principals have sent and received, in the store.
#include <gtest/gtest.h>

#include "tests/unit/sessions/store_fixture.h"

namespace {

using namespace sessions;

class StoreNetworkTest : public sessions::testing::StoreFixture {};

TEST_F(StoreNetworkTest, BytesOfTheNetworkAreCountedOnce) {
  const Session first = created();
  const Session second = created();
  constexpr std::int64_t kDay = 20'000;
  constexpr std::int64_t kNumbersPerDay = 86'400'000'000;
  const auto request = [](std::int64_t number, std::int64_t sent, std::int64_t received) {
    sandbox::NetworkRequest one;
    one.number = number;
    one.verdict = "allowed";
    one.host = "a.test";
    one.sent_bytes = sent;
    one.received_bytes = received;
    return one;
  };
  const auto a = request(kDay * kNumbersPerDay + 1, 10, 100);
  const auto b = request((kDay + 1) * kNumbersPerDay - 1, 1, 2);
  const auto c = request((kDay + 1) * kNumbersPerDay, 5, 0);
  ASSERT_TRUE(store_->add_network_requests(first.id, {a, b}).ok());
  ASSERT_TRUE(store_->add_network_requests(first.id, {a, b, c}).ok()) << "as journals come again";
  ASSERT_TRUE(store_->add_network_requests(second.id, {a}).ok());
  EXPECT_EQ(store_->network_bytes(first.id).value(), 118);
  EXPECT_EQ(store_->network_bytes(second.id).value(), 110);
  EXPECT_EQ(store_->network_bytes_on(principal_, kDay).value(), 223);
  EXPECT_EQ(store_->network_bytes_on(principal_, kDay + 1).value(), 5);
  EXPECT_EQ(store_->network_bytes_on("nobody", kDay).value(), 0);
}

}  // namespace
