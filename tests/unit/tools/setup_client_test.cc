// The clients that hutch setup knows, on a Linux and in a Windows around it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sandbox/box/obeyed_files.h"
#include "sandbox/host_places.h"
#include "tests/support/source_directory.h"
#include "tests/support/temporary_directory.h"
#include "tools/setup/client.h"

namespace {

namespace fs = std::filesystem;
using tools::setup::Client;
using tools::setup::Places;
using Words = std::vector<std::string>;

const Words kWords = {"/opt/hutch/bin/hutch", "stdio"};

class SetupClientTest : public ::testing::Test {
 protected:
  // Returns the clients that are there, or the one with the id.
  std::vector<Client> clients(const Places& places, const std::string& id = "") {
    auto all = tools::setup::known_clients(source_directory() + "/tools/setup/clients.json", places,
                                           kWords);
    EXPECT_TRUE(all.ok());
    std::vector<Client> found;
    for (Client& client : all.value()) {
      if (id.empty() ? client.is_there : client.id == id) found.push_back(std::move(client));
    }
    return found;
  }
  Places places() {
    fs::create_directories(directory_.path() + "/home");
    return {.home = directory_.path() + "/home",
            .config = directory_.path() + "/home/.config",
            .search_path = directory_.path() + "/bin"};
  }
  std::string user_of_windows(const std::string& name) {
    const std::string profile = directory_.path() + "/Users/" + name;
    fs::create_directories(profile + "/AppData/Roaming/Claude");
    return profile;
  }

  TemporaryDirectory directory_;
};

TEST_F(SetupClientTest, NobodyIsThereWithoutASign) {
  EXPECT_TRUE(clients(places()).empty());
  fs::create_directories(directory_.path() + "/home/.cursor");
  const auto found = clients(places());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "cursor");
  EXPECT_EQ(found[0].file, directory_.path() + "/home/.cursor/mcp.json");
  EXPECT_EQ(tools::setup::words_of_entry(nlohmann::json::parse(found[0].entry)), kWords);
}

TEST_F(SetupClientTest, ClientsOfWindowsStartItThroughWsl) {
  Places around = places();
  EXPECT_TRUE(clients(around, "claude-desktop-windows").empty()) << "there is no Windows";
  around.windows_profile = user_of_windows("Ann");
  around.distribution = "Debian";
  const auto found = clients(around, "claude-desktop-windows");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].is_there);
  EXPECT_EQ(found[0].title, "Claude Desktop (Windows)");
  EXPECT_EQ(found[0].file,
            around.windows_profile + "/AppData/Roaming/Claude/claude_desktop_config.json");
  EXPECT_EQ(tools::setup::words_of_entry(nlohmann::json::parse(found[0].entry)),
            (Words{"wsl.exe", "-d", "Debian", "-e", "/opt/hutch/bin/hutch", "stdio"}));
  // Linux's own is another one, and not there.
  const auto own = clients(around, "claude-desktop");
  ASSERT_EQ(own.size(), 1U);
  EXPECT_FALSE(own[0].is_there);
  const auto cursor = clients(around, "cursor-windows");
  ASSERT_EQ(cursor.size(), 1U);
  EXPECT_FALSE(cursor[0].is_there);
}

TEST_F(SetupClientTest, AProfileOfWindowsIsTakenWhereThereIsJustOne) {
  const std::string users = directory_.path() + "/Users";
  EXPECT_EQ(tools::setup::windows_profile(users), "");
  const std::string ann = user_of_windows("Ann");
  user_of_windows("Default");
  fs::create_directories(users + "/Public");
  EXPECT_EQ(tools::setup::windows_profile(users), ann);
  user_of_windows("Bob");
  EXPECT_EQ(tools::setup::windows_profile(users), "") << "whose it is cannot be told";
}

// Files that they obey stay as they are in a folder that code may write to
// (sandbox/box/host_folders.cc).
TEST(ObeyedFiles, EveryClientThatSetupKnowsIsAmongThoseWhoObey) {
  using namespace sandbox::box;
  std::set<std::string> obeying(std::begin(kClientsWithoutFiles), std::end(kClientsWithoutFiles));
  const auto add = [&obeying](std::string_view by) {
    std::istringstream words{std::string(by)};
    for (std::string word; words >> word;) obeying.insert(word);
  };
  for (const ObeyedFile& file : kObeyedFiles) add(file.by);
  for (const ObeyedFile& file : kObeyedInShared) add(file.by);
  std::ifstream table(source_directory() + "/tools/setup/clients.json");
  const auto known = nlohmann::json::parse(table);
  ASSERT_GT(known.size(), 10U);
  for (const auto& client : known) {
    EXPECT_TRUE(obeying.contains(client["id"].get<std::string>()))
        << client["id"] << ": name its files in sandbox/box/obeyed_files.h";
  }
}

// Their own configuration, in the user's home, is granted for writing to nobody.
TEST(ObeyedFiles, NoDirectoryThatAClientIsConfiguredInIsGrantedForWriting) {
  sandbox::HostPlaces places;
  sandbox::add_home(places, "/home/me");
  std::ifstream table(source_directory() + "/tools/setup/clients.json");
  for (const auto& client : nlohmann::json::parse(table)) {
    std::string file = client["file"].get<std::string>();
    if (file.starts_with("$CONFIG")) file = "~/.config" + file.substr(7);
    const std::string directory = file.substr(2, file.find('/', 2) - 2);
    if (file.find('/', 2) == std::string::npos) continue;  // no folder can be a file
    EXPECT_EQ(std::count(places.never_writable.begin(), places.never_writable.end(),
                         "/home/me/" + directory),
              1)
        << client["id"];
  }
}

}  // namespace
