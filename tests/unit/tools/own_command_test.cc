#include "tools/cli/own_command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/process.h"
#include "tests/support/temporary_directory.h"

namespace tools::cli {
namespace {

class OwnCommandTest : public ::testing::Test {
 protected:
  OwnCommandTest() { settings_.state_directory = "/home/nobody/.local/state/hutch"; }

  std::string command() {
    return own_command(settings_, [this](const char* name) { return variables_[name]; });
  }

  const std::string own_ = base::executable_directory().value() + "/hutch";
  const TemporaryDirectory directory_;
  std::map<std::string, std::string> variables_{{"HOME", "/home/nobody"}, {"PATH", "/nonexistent"}};
  Settings settings_;
};

TEST_F(OwnCommandTest, IsTheNameWhereThePathHasThisProgram) {
  std::filesystem::create_symlink(own_, directory_.path() + "/hutch");
  variables_["PATH"] = "/nonexistent:" + directory_.path();
  EXPECT_EQ(command(), "hutch");
}

TEST_F(OwnCommandTest, IsThePathWhereThePathHasNoneOrAnother) {
  EXPECT_EQ(command(), own_);
  directory_.write("hutch", "#!/bin/sh\n");
  std::filesystem::permissions(directory_.path() + "/hutch", std::filesystem::perms::owner_all);
  variables_["PATH"] = directory_.path() + ":" + own_.substr(0, own_.rfind('/'));
  EXPECT_EQ(command(), own_);
}

TEST_F(OwnCommandTest, NamesADirectoryThatAShellWouldNotHave) {
  settings_.state_directory = "/srv/it's here";
  EXPECT_EQ(command(), own_ + " --state-dir '/srv/it'\\''s here'");
  // The variable is this process's own.
  settings_.state_directory = variables_["HUTCH_STATE_DIR"] = "/srv/hutch";
  EXPECT_EQ(command(), own_ + " --state-dir /srv/hutch");
  variables_["XDG_STATE_HOME"] = "/srv";
  EXPECT_EQ(command(), own_);
}

TEST_F(OwnCommandTest, IsAsItsLauncherSays) {
  variables_["HUTCH_LAUNCHER"] = "npx -y hutch-mcp";
  EXPECT_EQ(command(), "npx -y hutch-mcp");
  variables_["HUTCH_LAUNCHER"] = "none";
  EXPECT_EQ(command(), own_);
}

}  // namespace
TEST(WordsOfShell, NameCommandsInPlaceOfTools) {
  using tools::cli::in_words_of_shell;
  EXPECT_EQ(
      in_words_of_shell("no such session; list_sessions shows yours, create_session makes one",
                        "hutch --state-dir /s"),
      "no such session; `hutch --state-dir /s sessions ls` shows those there are");
  EXPECT_EQ(in_words_of_shell("/workspace/a: no such file or directory; list_files shows what is "
                              "there"),
            "/workspace/a: no such file or directory; `hutch shell SESSION -- ls` shows what is "
            "there");
  EXPECT_EQ(in_words_of_shell("delete some, or create_session with more"),
            "delete some, or give new sessions more under [limits] of the configuration");
  EXPECT_EQ(in_words_of_shell("listen: Address already in use"), "listen: Address already in use");
}

}  // namespace tools::cli
