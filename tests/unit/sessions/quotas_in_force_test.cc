// Bounds that a server changes while sessions are made by them.
#include "sessions/quotas_in_force.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

namespace sessions {
namespace {

// Returns quotas of which each part is the same number.
Quotas all_of(std::int64_t number) {
  Quotas quotas;
  for (sandbox::Limits* limits : {&quotas.default_limits, &quotas.most_limits}) {
    limits->memory_mb = limits->disk_mb = limits->run_seconds = number;
  }
  quotas.sessions_max = quotas.kept_sessions_max = number;
  quotas.idle_seconds = quotas.retention_seconds = number;
  return quotas;
}

std::set<std::int64_t> numbers_in(const Quotas& quotas) {
  std::set<std::int64_t> numbers{quotas.sessions_max, quotas.kept_sessions_max, quotas.idle_seconds,
                                 quotas.retention_seconds};
  for (const sandbox::Limits& limits : {quotas.default_limits, quotas.most_limits}) {
    numbers.insert({limits.memory_mb, limits.disk_mb, limits.run_seconds});
  }
  return numbers;
}

TEST(QuotasInForce, WhatWasSetLastHoldsAtOnce) {
  QuotasInForce quotas(all_of(1));
  const Quotas before = quotas.now();
  EXPECT_EQ(numbers_in(before), std::set<std::int64_t>{1});
  quotas.change(all_of(2));
  EXPECT_EQ(numbers_in(quotas.now()), std::set<std::int64_t>{2});
  EXPECT_EQ(numbers_in(before), std::set<std::int64_t>{1})
      << "who has asked keeps what it was told";
}

TEST(QuotasInForce, NobodySeesAHalfOfAChange) {
  QuotasInForce quotas(all_of(1));
  constexpr int kReaders = 2;
  std::atomic<int> satisfied{0};
  std::atomic<bool> torn{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      std::set<std::int64_t> seen;
      for (int looks = 0; looks < 10'000 || seen.size() < 2; ++looks) {
        const std::set<std::int64_t> numbers = numbers_in(quotas.now());
        if (numbers.size() != 1) torn = true;
        seen.merge(std::set<std::int64_t>(numbers));
      }
      ++satisfied;
    });
  }
  while (satisfied < kReaders) {
    quotas.change(all_of(2));
    quotas.change(all_of(1));
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(torn);
}

}  // namespace
}  // namespace sessions
