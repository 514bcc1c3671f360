// Whom callers count as whose principal nobody knows yet.
#include "mcp/http/peer_network.h"

#include <gtest/gtest.h>

namespace mcp::http {
namespace {

TEST(PeerNetwork, AnIpv4AddressIsItself) { EXPECT_EQ(network_of("192.0.2.7"), "192.0.2.7"); }

TEST(PeerNetwork, AllAddressesOfOneIpv6NetworkAreOne) {
  const std::string network = network_of("2001:db8:0:7:1:2:3:4");
  EXPECT_EQ(network, "2001:db8:0:7::/64");
  EXPECT_EQ(network_of("2001:db8:0:7:ffff::9"), network);
  EXPECT_NE(network_of("2001:db8:0:8:1:2:3:4"), network);
}

TEST(PeerNetwork, AMappedIpv4AddressIsThatAddress) {
  EXPECT_EQ(network_of("::ffff:192.0.2.7"), "192.0.2.7");
}

TEST(PeerNetwork, WhatIsNoAddressOfANetworkStays) {
  EXPECT_EQ(network_of("::1"), "::1");
  EXPECT_EQ(network_of("unix"), "unix");
  EXPECT_EQ(network_of(""), "");
}

}  // namespace
}  // namespace mcp::http
