// Bytes that many share, of which nobody takes more than half.
#include "mcp/http/budget.h"

#include <gtest/gtest.h>

#include <memory>

namespace mcp::http {
namespace {

TEST(FairBudget, OneWhoHoldsHalfKeepsNobodyElseOut) {
  const auto budget = std::make_shared<FairBudget>(100);
  const auto first = FairBudget::take(budget, "greedy", 30);
  auto second = FairBudget::take(budget, "greedy", 20);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(FairBudget::take(budget, "greedy", 1));
  const auto other = FairBudget::take(budget, "other", 50);
  EXPECT_TRUE(other);
  EXPECT_FALSE(FairBudget::take(budget, "third", 1)) << "all of it is held";
  second.reset();
  EXPECT_TRUE(FairBudget::take(budget, "third", 20));
  EXPECT_TRUE(FairBudget::take(budget, "greedy", 20)) << "what was given back is free again";
}

TEST(FairBudget, WhatIsTooLargeForAnybodyIsRefused) {
  const auto budget = std::make_shared<FairBudget>(100);
  EXPECT_FALSE(FairBudget::take(budget, "one", 51));
  EXPECT_FALSE(FairBudget::take(budget, "one", static_cast<std::size_t>(-1)));
  EXPECT_TRUE(FairBudget::take(budget, "one", 50));
}

}  // namespace
}  // namespace mcp::http
