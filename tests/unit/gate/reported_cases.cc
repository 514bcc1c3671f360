// Cases of each end, for test_cpp_cases.py: what the gate is told of them.
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

TEST(Reported, Passes) { EXPECT_TRUE(true); }
TEST(Reported, Fails) { EXPECT_EQ(1, 2) << "not valid UTF-8: \xff"; }
TEST(Reported, Skips) { GTEST_SKIP() << "no kernel for it"; }
TEST(Reported, Dies) {
  if (std::getenv("DIE") != nullptr) {
    std::abort();
  }
}
class OneOf : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, OneOf, testing::Values("a", "b"));
TEST_P(OneOf, Passes) { EXPECT_NE(GetParam(), nullptr); }

}  // namespace
