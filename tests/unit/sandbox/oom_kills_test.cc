// Which kills for memory are news to the session's runs.
#include "sandbox/box/oom_kills.h"

#include <gtest/gtest.h>

namespace {

using sandbox::box::OomKills;

TEST(OomKillsTest, OnlySigkillThatIsNotOursMayBeOne) {
  EXPECT_TRUE(OomKills::may_be_one(false, SIGKILL));
  EXPECT_FALSE(OomKills::may_be_one(true, SIGKILL));
  EXPECT_FALSE(OomKills::may_be_one(false, SIGTERM));
  EXPECT_FALSE(OomKills::may_be_one(false, SIGKILL << 8)) << "an exit with code 9";
}

TEST(OomKillsTest, TheEndOfAProcessExplainsOneKill) {
  OomKills kills;
  EXPECT_FALSE(kills.take_unexplained(0));
  kills.explain_one(1);
  EXPECT_FALSE(kills.take_unexplained(1));
  kills.explain_one(3);
  EXPECT_TRUE(kills.take_unexplained(3)) << "of two one was explained";
  EXPECT_FALSE(kills.take_unexplained(3));
  kills.explain_one(3);
  EXPECT_TRUE(kills.take_unexplained(4)) << "there was nothing to explain";
}

TEST(OomKillsTest, IsToldOnce) {
  OomKills kills;
  EXPECT_FALSE(kills.take_untold(0));
  EXPECT_TRUE(kills.take_untold(2));
  EXPECT_FALSE(kills.take_untold(2));
  kills.tell_all(3);
  EXPECT_FALSE(kills.take_untold(3));
  EXPECT_TRUE(kills.take_untold(4));
}

}  // namespace
