#include "sandbox/box/disk_promises.h"

#include <gtest/gtest.h>

namespace sandbox::box {
namespace {

class DiskPromisesTest : public testing::Test {
 protected:
  void look() {
    promises_.look_begins(now_);
    promises_.look_has_counted();
  }

  DiskPromises promises_;
  DiskPromises::Clock::time_point now_{};
};

TEST_F(DiskPromisesTest, StayWhileTheirFilesAreWrittenHoweverManyLooksEnd) {
  promises_.add(9, now_);
  for (int i = 0; i < 5; ++i) look();
  EXPECT_EQ(promises_.bytes(), 9);
}

TEST_F(DiskPromisesTest, StayAfterALookThatBeganBeforeTheFileWasWhole) {
  promises_.add(9, now_);
  promises_.look_begins(now_);
  promises_.written(9);
  promises_.look_has_counted();
  EXPECT_EQ(promises_.bytes(), 9);
  look();
  EXPECT_EQ(promises_.bytes(), 0);
}

TEST_F(DiskPromisesTest, StayAfterALookThatWasCutShort) {
  promises_.add(9, now_);
  promises_.written(9);
  promises_.look_begins(now_);
  EXPECT_EQ(promises_.bytes(), 9);
  promises_.add(4, now_);
  look();
  EXPECT_EQ(promises_.bytes(), 4);
}

TEST_F(DiskPromisesTest, OneOfManyIsSettledByEachFile) {
  promises_.add(9, now_);
  promises_.add(9, now_);
  promises_.add(4, now_);
  promises_.written(9);
  promises_.written(5);  // nobody was promised that
  look();
  EXPECT_EQ(promises_.bytes(), 13);
  promises_.written(9);
  promises_.written(4);
  look();
  EXPECT_EQ(promises_.bytes(), 0);
}

TEST_F(DiskPromisesTest, GoWithTheNextLookOnceNobodyIsLeftToTell) {
  promises_.add(9, now_);
  promises_.add(4, now_);
  promises_.all_written();
  look();
  EXPECT_EQ(promises_.bytes(), 0);
}

TEST_F(DiskPromisesTest, GoWithTheWriterThatNeverTold) {
  promises_.add(9, now_);
  now_ += DiskPromises::kWritingMost;
  look();
  EXPECT_EQ(promises_.bytes(), 0);
}

}  // namespace
}  // namespace sandbox::box
