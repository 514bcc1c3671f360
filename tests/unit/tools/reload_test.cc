// A running server takes what it can of a configuration, and names the rest.
#include "tools/cli/reload.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "tests/support/source_directory.h"
#include "tests/support/temporary_directory.h"

namespace tools::cli {
namespace {

using Words = std::vector<std::string>;

class ReloadTest : public ::testing::Test {
 protected:
  base::Result<Settings> read(const std::string& text, const Flags& given = {}) {
    const std::string path = directory_.path() + "/config.toml";
    std::ofstream(path) << text;
    Flags flags = given;
    flags.config_file = path;
    return resolve_settings(flags, [](const char* name) {
      return std::string(std::string_view(name) == "HOME" ? "/home/nobody" : "");
    });
  }
  Changes between(const std::string& before, const std::string& after, const Flags& flags = {}) {
    return changes_between(read(before, flags).value(), read(after, flags).value());
  }

  const TemporaryDirectory directory_;
};

// Each line by itself, so that the one that is wrong is named.
TEST_F(ReloadTest, TheExampleSaysTheDefaults) {
  const auto without_place = [](Settings settings) {
    settings.config_file.clear();
    settings.written.clear();
    return settings;
  };
  const Settings defaults = without_place(read("").value());
  std::ifstream file(source_directory() + "/packaging/config.toml");
  std::string section;
  int tried = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('[')) section = line + "\n";
    // These two are comments, since nobody's home stands there, and show the default all the same.
    const bool is_of_home = line.starts_with("# state_dir") || line.starts_with("# share_dir");
    if (is_of_home) line.erase(0, 2);
    if (line.find(" = ") == line.npos || line.starts_with('#') || line.starts_with(' ')) continue;
    const auto settings = read(section + line);
    ASSERT_TRUE(settings.ok()) << line << ": " << settings.error().message;
    Settings expected = defaults;
    // A machine with little memory has less of it, and the line says so.
    if (settings.value().written.contains("limits.memory_mb")) {
      expected.default_limits.memory_mb = sandbox::Limits().memory_mb;
    }
    EXPECT_TRUE(without_place(settings.value()) == expected) << section << line;
    ++tried;
  }
  EXPECT_GT(tried, 50);
}

// The comparison above sees all that a file can say.
TEST_F(ReloadTest, AnotherValueIsAnotherSetting) {
  for (const char* text : {"zygote = false", "[retention]\nruns_days = 91",
                           "[serve]\ndrain_seconds = 11", "[network]\nsession_mb = 1"}) {
    Settings changed = read(text).value();
    changed.config_file.clear();
    changed.written.clear();
    Settings defaults = read("").value();
    defaults.config_file.clear();
    EXPECT_FALSE(changed == defaults) << text;
  }
}

TEST_F(ReloadTest, WhatCanChangeDoes) {
  const Changes changes = between(
      "log_level = \"info\"\n[limits]\nmemory_mb = 300\n[serve]\nlisten = \"127.0.0.1:1\"\n",
      "log_level = \"debug\"\n[limits]\nmemory_mb = 400\n[serve]\nlisten = \"127.0.0.1:1\"\n"
      "allow_hosts = [\"a.example\"]\n");
  EXPECT_EQ(changes.taken, (Words{"limits.memory_mb", "log_level", "serve.allow_hosts"}));
  EXPECT_EQ(changes.waiting, Words());
  EXPECT_EQ(changes.beaten, Words());
}

TEST_F(ReloadTest, WhatCannotIsNamed) {
  const Changes changes =
      between("state_dir = \"/a\"\n[network]\nallow = [\"a.example\"]\n",
              "state_dir = \"/b\"\n[network]\nallow = [\"a.example\", \"b.example\"]\n"
              "[network.addresses]\n\"c.example\" = \"10.0.0.1\"\n");
  EXPECT_EQ(changes.taken, Words());
  EXPECT_EQ(changes.waiting, (Words{"network.addresses.c.example", "network.allow", "state_dir"}));
}

TEST_F(ReloadTest, ALineThatIsGoneIsAChange) {
  const Changes changes = between("log_level = \"debug\"\nzygote = false\n", "");
  EXPECT_EQ(changes.taken, Words{"log_level"});
  EXPECT_EQ(changes.waiting, Words{"zygote"});
}

TEST_F(ReloadTest, AFlagBeatsTheFile) {
  Flags flags;
  flags.log_level = "error";
  const Changes changes = between("log_level = \"info\"\n", "log_level = \"debug\"\n", flags);
  EXPECT_EQ(changes.taken, Words());
  EXPECT_EQ(changes.beaten, Words{"log_level"});
}

TEST_F(ReloadTest, WhatIsWrongIsToldWithItsPlace) {
  const auto place = [&](int line) {
    return directory_.path() + "/config.toml:" + std::to_string(line) + ": ";
  };
  EXPECT_TRUE(read("\nlog_level = \"loud\"\n").error().message.starts_with(place(2)));
  EXPECT_TRUE(read("[session]\n\nidle_seconds = \"1\"\n").error().message.starts_with(place(3)));
  EXPECT_TRUE(
      read("[limits]\ncpus = 9\n[max_limits]\ncpus = 3\n").error().message.starts_with(place(2)));
  const auto settings = read("[network]\nprivate = []\nallow = [\"packages\", \"no host\"]\n");
  ASSERT_TRUE(settings.ok());
  const auto checked = check_rules(settings.value());
  ASSERT_FALSE(checked.ok());
  EXPECT_TRUE(checked.error().message.starts_with(place(3))) << checked.error().message;
}

TEST_F(ReloadTest, AVariableGivesTheLevelThatNothingElseSays) {
  const auto level = [](const Flags& flags, std::map<std::string, std::string> variables) {
    variables["HOME"] = "/home/nobody";
    variables["XDG_CONFIG_HOME"] = "/nowhere";
    return resolve_settings(flags, [&](const char* name) { return variables[name]; })
        .value()
        .log_level;
  };
  EXPECT_EQ(level({}, {{"HUTCH_DEFAULT_LOG_LEVEL", "info"}}), "info");
  EXPECT_EQ(level({}, {{"HUTCH_DEFAULT_LOG_LEVEL", "info"}, {"HUTCH_LOG_LEVEL", "error"}}),
            "error");
}

TEST_F(ReloadTest, NamesOfTheDoor) {
  ServeSettings running;
  running.behind_proxy = true;
  running.public_url = "https://Hutch.example.org:8443/x";
  ServeSettings read;
  EXPECT_TRUE(door_names(running, read).any_host);
  read.allow_hosts = {"a.example"};
  const auto names = door_names(running, read);
  EXPECT_FALSE(names.any_host);
  EXPECT_EQ(names.allow_hosts, (Words{"a.example", "hutch.example.org"}));
}

}  // namespace
}  // namespace tools::cli
