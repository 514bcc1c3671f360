// Bytes that many share: who has to give way, and who is kept out.
#include "mcp/http/budget.h"

#include <gtest/gtest.h>

#include <memory>

namespace mcp::http {
namespace {

TEST(Budget, WhoHoldsMoreThanAnEqualPartGivesWay) {
  Budget budget(100);
  budget.add("greedy", 100);
  EXPECT_FALSE(budget.exceeded_by("greedy")) << "nobody else wants it";
  budget.add("other", 40);
  EXPECT_TRUE(budget.exceeded_by("greedy"));
  EXPECT_FALSE(budget.exceeded_by("other"));
  EXPECT_FALSE(budget.exceeded_by("nobody"));
  budget.remove("greedy", 40);
  EXPECT_FALSE(budget.exceeded_by("greedy"));
  budget.add("other", 20);
  EXPECT_TRUE(budget.exceeded_by("greedy"));
  EXPECT_TRUE(budget.exceeded_by("other"));
}

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
