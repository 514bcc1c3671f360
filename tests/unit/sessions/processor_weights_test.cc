// How the part of a principal is divided among its sessions.
#include <gtest/gtest.h>

#include "sessions/processor_weights.h"

namespace {

using sessions::shares_of_parts;

TEST(ProcessorWeights, APartIsDividedAmongTheBusySessionsOfItsPrincipal) {
  const auto shares = shares_of_parts({{"a1", "alice", true},
                                       {"a2", "alice", true},
                                       {"a3", "alice", false},
                                       {"b1", "bob", true},
                                       {"c1", "carol", false},
                                       {"c2", "carol", false}});
  EXPECT_EQ(shares.at("a1"), 2);
  EXPECT_EQ(shares.at("a2"), 2);
  EXPECT_EQ(shares.at("b1"), 1) << "it does not matter how many others have";
  // Processes that runs left behind in idle ones have one part in all, however many there are.
  EXPECT_EQ(shares.at("a3"), 3);
  EXPECT_EQ(shares.at("c1"), 2);
  EXPECT_EQ(shares.at("c2"), 2);
  EXPECT_TRUE(shares_of_parts({}).empty());
}

}  // namespace
