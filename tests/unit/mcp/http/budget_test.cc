// Bytes that many share: who has to give way, and who is kept out.
#include "mcp/http/budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

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

TEST(FairBudget, ThoseWhoHoldAsMuchAsTheyGetKeepNobodyElseOut) {
  const auto budget = std::make_shared<FairBudget>(100);
  const auto first = FairBudget::take(budget, "greedy", 30);
  auto second = FairBudget::take(budget, "greedy", 20);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(FairBudget::take(budget, "greedy", 1));
  EXPECT_FALSE(FairBudget::take(budget, "other", 26)) << "fewer would be left";
  const auto other = FairBudget::take(budget, "other", 25);
  EXPECT_TRUE(other);
  const auto third = FairBudget::take(budget, "third", 10);
  EXPECT_TRUE(third);
  second.reset();
  EXPECT_TRUE(FairBudget::take(budget, "third", 7));
  EXPECT_FALSE(FairBudget::take(budget, "greedy", 20)) << "the others have taken of it";
  EXPECT_TRUE(FairBudget::take(budget, "greedy", 0)) << "which holds nothing";
  EXPECT_TRUE(FairBudget::take(budget, "greedy", 2)) << "what was given back is free again";
}

TEST(FairBudget, TheLastPlaceGoesToWhoHasNone) {
  const auto places = std::make_shared<FairBudget>(4);
  std::vector<std::shared_ptr<const void>> held;
  for (const char* who : {"one", "one", "two", "three"}) {
    held.push_back(FairBudget::take(places, who, 1));
    EXPECT_TRUE(held.back()) << who;
    EXPECT_FALSE(who == std::string("two") && FairBudget::take(places, who, 1));
  }
  EXPECT_FALSE(FairBudget::take(places, "four", 1)) << "there are no more";
  EXPECT_TRUE(FairBudget::take(places, "four", 0));
}

TEST(FairBudget, NobodyHasMoreThanWasSaidForEach) {
  const auto places = std::make_shared<FairBudget>(10, 2);
  const auto one = FairBudget::take(places, "one", 2);
  EXPECT_TRUE(one);
  EXPECT_FALSE(FairBudget::take(places, "one", 1));
  EXPECT_TRUE(FairBudget::take(places, "two", 2));
}

TEST(FairBudget, WhatIsTooLargeForAnybodyIsRefused) {
  const auto budget = std::make_shared<FairBudget>(100);
  EXPECT_FALSE(FairBudget::take(budget, "one", 51));
  EXPECT_FALSE(FairBudget::take(budget, "one", static_cast<std::size_t>(-1)));
  EXPECT_TRUE(FairBudget::take(budget, "one", 50));
}

}  // namespace
}  // namespace mcp::http
