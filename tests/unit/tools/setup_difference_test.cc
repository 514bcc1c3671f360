// Tests what is shown of a change before it is made.
#include <gtest/gtest.h>

#include <string>

#include "tools/setup/change.h"

namespace {

using tools::setup::Change;

Change change_of(std::string before, std::string after) {
  Change change;
  change.file = "/f";
  change.before = std::move(before);
  change.after = std::move(after);
  change.was_there = change.stays = true;
  return change;
}

TEST(SetupDifference, TheLinesThatDifferAndSomeAroundThem) {
  EXPECT_EQ(difference(change_of("1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\nnew\n5\n6\n7\n8\n")),
            "--- /f\n+++ /f\n@@ -2 @@\n 2\n 3\n 4\n+new\n 5\n 6\n 7\n");
}

TEST(SetupDifference, AFileOfOneLineShowsWhatIsNearTheChangeOnly) {
  const std::string others = R"("a": {"env": {"KEY": "secret"}})";
  const std::string far(300, ' ');
  const std::string before =
      "{" + others + far + R"("mcpServers": {"é": {}}})" + far + others + "}";
  std::string after = before;
  after.insert(before.find(R"("é")"), "\n  \"hutch\": {},\n  ");
  const std::string shown = difference(change_of(before, after));
  EXPECT_EQ(shown.find("secret"), shown.npos) << shown;
  EXPECT_NE(shown.find("\n+  \"hutch\": {},\n"), shown.npos) << shown;
  EXPECT_NE(shown.find("\n-..."), shown.npos) << shown;
  EXPECT_LT(shown.size(), 700U);
}

}  // namespace
