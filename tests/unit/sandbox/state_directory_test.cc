#include "sandbox/box/state_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/temporary_directory.h"

namespace {

using sandbox::box::StateDirectory;

class StateDirectoryTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return session_.path() + "/state"; }
  [[nodiscard]] bool is_there() const { return std::filesystem::exists(path()); }

  const TemporaryDirectory session_;
  StateDirectory directory_ = StateDirectory::open(session_.fd()).value();
};

TEST_F(StateDirectoryTest, IsThereOnceThereIsSomethingToStore) {
  EXPECT_EQ(directory_.fd(), -1);
  EXPECT_FALSE(directory_.take_rests());
  EXPECT_FALSE(is_there());
  ASSERT_TRUE(directory_.make().ok());
  EXPECT_TRUE(is_there());
  const int made = directory_.fd();
  EXPECT_GE(made, 0);
  EXPECT_TRUE(directory_.make().ok());
  EXPECT_EQ(directory_.fd(), made);
}

TEST_F(StateDirectoryTest, IsFoundWhereAServerHasMadeItMeanwhile) {
  EXPECT_EQ(directory_.fd(), -1);
  std::filesystem::create_directory(path());
  directory_.look();
  EXPECT_GE(directory_.fd(), 0);
}

// Whoever took it for none would store over what is in it.
TEST_F(StateDirectoryTest, ThatCannotBeOpenedIsAnError) {
  std::filesystem::create_directory(session_.path() + "/other");
  std::filesystem::create_symlink("other", path());
  EXPECT_FALSE(StateDirectory::open(session_.fd()).ok()) << "a link is none of a session";
  directory_.look();
  EXPECT_EQ(directory_.fd(), -1);
  EXPECT_FALSE(directory_.make().ok());
}

TEST_F(StateDirectoryTest, TheNextBoxKnowsOnceThatTheOneBeforeRests) {
  directory_.set_rests();
  StateDirectory next = StateDirectory::open(session_.fd()).value();
  EXPECT_TRUE(next.take_rests());
  EXPECT_FALSE(next.take_rests());
}

}  // namespace
