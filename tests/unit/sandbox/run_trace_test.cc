// Traces of runs: first times, through JSON and back, whoever has written it.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "sandbox/run.h"
#include "sandbox/run_trace.h"

namespace {

using nlohmann::json;
using sandbox::Hop;
using sandbox::RunTrace;

constexpr std::int64_t kThen = 1'790'000'000'000'000;

TEST(RunTrace, TheFirstTimeCounts) {
  RunTrace trace;
  EXPECT_TRUE(trace.empty());
  trace.mark(Hop::kDone, kThen);
  trace.mark(Hop::kDone, kThen + 5);
  EXPECT_EQ(trace.at_us(Hop::kDone), kThen);
  EXPECT_EQ(trace.at_us(Hop::kSeen), std::nullopt);
  EXPECT_FALSE(trace.empty());
}

TEST(RunTrace, WithoutATimeItIsNow) {
  RunTrace trace;
  const std::int64_t before = base::now_us();
  trace.mark(Hop::kBegun);
  EXPECT_GE(trace.at_us(Hop::kBegun), before);
  EXPECT_LE(trace.at_us(Hop::kBegun), base::now_us());
}

TEST(RunTrace, TakesATimeOfTheClockThatNobodySets) {
  RunTrace trace;
  const std::int64_t before = base::now_us();
  trace.mark(Hop::kCalled, std::chrono::steady_clock::now() - std::chrono::seconds(5));
  EXPECT_GE(trace.at_us(Hop::kCalled), before - 5'000'000);
  EXPECT_LT(trace.at_us(Hop::kCalled), before);
}

TEST(RunTrace, GoesWithItsRunThroughJson) {
  sandbox::Run run;
  run.run_id = "run_0123456789ab";
  run.trace.mark(Hop::kStarted, kThen);
  run.trace.mark(Hop::kDone, kThen + 1234);
  run.trace.mark(Hop::kCalled, kThen - 10);  // a clock that was put back
  const auto back = sandbox::run_from_json(sandbox::run_to_json(run)).value();
  for (std::size_t hop = 0; hop < sandbox::kHops; ++hop) {
    EXPECT_EQ(back.trace.at_us(Hop(hop)), run.trace.at_us(Hop(hop))) << hop;
  }
  sandbox::RunRequest request;
  request.run_id = run.run_id;
  request.trace = run.trace;
  const auto asked = sandbox::request_from_json(sandbox::request_to_json(request)).value();
  EXPECT_EQ(asked.trace.to_json(), run.trace.to_json());
  EXPECT_FALSE(sandbox::run_to_json(sandbox::Run()).contains("trace"));
}

TEST(RunTrace, TakesNothingThatIsNoTimeFromABox) {
  for (const char* text :
       {"null", "{}", "[]", "7", R"(["1790000000000000", 0])", "[1.5, 0]", "[-1, 0]",
        "[18446744073709551615, 0]", "[9223372036854775807, 9223372036854775807]",
        R"([1790000000000000, "0", null, [], {}, true, 1e300, -1790000000000000])"}) {
    EXPECT_TRUE(RunTrace::from_json(json::parse(text)).empty()) << text;
  }
  json many = json::array({kThen});
  for (int i = 0; i < 100'000; ++i) many.push_back(i);
  EXPECT_EQ(RunTrace::from_json(many).at_us(Hop::kSeen), kThen + sandbox::kHops - 1);
}

TEST(RunTrace, EachHopHasItsWords) {
  for (std::size_t hop = 0; hop < sandbox::kHops; ++hop) {
    const auto [process, words] = sandbox::words_of(Hop(hop));
    EXPECT_FALSE(std::string(process).empty() || std::string(words).empty()) << hop;
  }
}

}  // namespace
