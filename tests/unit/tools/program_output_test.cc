// Tests that what a program of the operator's prints counts only when it has ended well.
#include "tools/cli/program_output.h"

#include <gtest/gtest.h>

namespace tools::cli {
namespace {

base::Result<std::string> said_by(const std::string& script) {
  base::SpawnOptions options;
  options.arguments = {"/bin/sh", "-c", script};
  options.environment = {"PATH=/usr/bin:/bin"};
  return output_of(std::move(options), 1000, std::chrono::seconds(30));
}

TEST(ProgramOutput, OfAProgramThatEndsWell) {
  EXPECT_EQ(said_by("echo value").value(), "value\n");
  EXPECT_EQ(said_by("exec 3>&1; echo value; exec 1>&- 3>&-; sleep 600").value(), "value\n")
      << "who has said all and goes on is ended";
}

TEST(ProgramOutput, OfOneThatFailsOrCrashesIsNothing) {
  EXPECT_NE(said_by("echo value; exit 3").error().message.find("status 3"), std::string::npos);
  EXPECT_NE(said_by("echo value; kill -SEGV $$").error().message.find("signal 11"),
            std::string::npos);
  EXPECT_NE(said_by("echo value; kill -KILL $$").error().message.find("signal 9"),
            std::string::npos);
  EXPECT_NE(said_by("exec 3>&1; echo value; exec 1>&- 3>&-; exit 4").error().message.find("4"),
            std::string::npos);
  EXPECT_EQ(said_by("yes").error().kind, base::Error::Kind::kLimit);
}

}  // namespace
}  // namespace tools::cli
