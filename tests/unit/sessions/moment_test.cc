// The present is read from every clock at once.
#include "sessions/moment.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace sessions {
namespace {

TEST(Moment, ClocksGoOnWithinOneStartOfTheMachine) {
  const std::int64_t before = base::now_ms();
  const Moment first = moment_now();
  const Moment second = moment_now();
  EXPECT_GE(first.now_ms, before);
  EXPECT_FALSE(first.boot_id.empty());
  EXPECT_EQ(first.boot_id, second.boot_id);
  EXPECT_GE(second.boottime_ms, first.boottime_ms);
  EXPECT_GE(second.uptime_ms, first.uptime_ms);
  EXPECT_GE(first.boottime_ms, first.uptime_ms) << "time that it was suspended is in one alone";
}

}  // namespace
}  // namespace sessions
