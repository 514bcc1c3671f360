#include "sessions/text_memo.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace sessions {
namespace {

int reads_of_memo = 0;

base::Result<int> read_counted(const std::string& text) {
  ++reads_of_memo;
  const auto number = base::number_of<int>(text);
  if (!number) return base::error(base::Error::Kind::kInvalid, "not a number: " + text);
  return *number;
}

TEST(TextMemo, ReadsATextOnce) {
  reads_of_memo = 0;
  TextMemo<int> memo(&read_counted);
  for (int time = 0; time < 3; ++time) {
    EXPECT_EQ(memo.value_of("7").value(), 7);
    EXPECT_EQ(memo.value_of("8").value(), 8);
  }
  EXPECT_EQ(reads_of_memo, 2);
}

TEST(TextMemo, DoesNotRememberWhatCannotBeRead) {
  reads_of_memo = 0;
  TextMemo<int> memo(&read_counted);
  EXPECT_EQ(memo.value_of("x").error().message, "not a number: x");
  EXPECT_EQ(memo.value_of("x").error().message, "not a number: x");
  EXPECT_EQ(reads_of_memo, 2);
}

TEST(TextMemo, ForgetsRatherThanGrows) {
  reads_of_memo = 0;
  TextMemo<int> memo(&read_counted);
  for (int number = 0; number < 1'000; ++number) {
    EXPECT_EQ(memo.value_of(std::to_string(number)).value(), number);
  }
  EXPECT_EQ(memo.value_of("0").value(), 0);
  EXPECT_EQ(reads_of_memo, 1'001);
}

}  // namespace
}  // namespace sessions
