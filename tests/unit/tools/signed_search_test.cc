// Searches for whom a signed URL is of: no address takes all places from the others.
#include "tools/api/e2b/signed_search.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace {

using tools::api::e2b::SignedSearch;

std::size_t take_all(SignedSearch& search, const char* address,
                     std::vector<std::unique_ptr<SignedSearch::UnderWay>>& places) {
  std::size_t count = 0;
  while (auto place = search.begin(address)) {
    places.push_back(std::move(place));
    ++count;
  }
  return count;
}

TEST(SignedSearchTest, AnAddressLeavesPlacesForOthers) {
  SignedSearch search;
  std::vector<std::unique_ptr<SignedSearch::UnderWay>> places;
  EXPECT_EQ(take_all(search, "192.0.2.1", places), 4U);
  EXPECT_EQ(take_all(search, "192.0.2.2", places), 2U);
  EXPECT_EQ(take_all(search, "192.0.2.3", places), 1U);
  for (const auto& place : places) place->set_right();
  places.clear();
  EXPECT_EQ(take_all(search, "192.0.2.3", places), 4U);
}

TEST(SignedSearchTest, AnAddressFailsSoOftenAtMost) {
  SignedSearch search;
  int failed = 0;
  while (search.begin("192.0.2.1")) ++failed;  // each ends at once
  EXPECT_EQ(failed, SignedSearch::kFailuresMost);
  EXPECT_TRUE(search.begin("192.0.2.2"));
}

}  // namespace
