// Tests what a whole server is made of, as far as several of them have it in common.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "mcp/server.h"
#include "sessions/manager.h"
#include "sessions/manager_config.h"
#include "sessions/store.h"
#include "tests/unit/tools/fake_sandbox.h"
#include "tools/tools.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// All that one process has.
struct Process {
  explicit Process(const std::string& directory)
      : store(sessions::Store::open(directory + "/hutch.db").value()),
        share(share::FileShare::open(directory + "/shared", store->shares, store->upkeep).value()) {
    sessions::ManagerConfig config;
    config.state_directory = directory;
    manager = sessions::Manager::open(config, *store, sandbox).value();
    offer.emplace(server, tools::Services{manager->services(), share, ""});
  }

  sandbox::fake::FakeSandbox sandbox;
  std::unique_ptr<sessions::Store> store;
  share::FileShare share;
  std::unique_ptr<sessions::Manager> manager;
  mcp::Server server{{"test", "", "1", ""}};
  std::optional<tools::Offer> offer;
};

TEST(Offer, ServersOfOneStateDirectoryGoOnWithEachOthersRequests) {
  std::string directory = ::testing::TempDir() + "hutch_offer_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string elsewhere = directory + "/elsewhere";
  fs::create_directory(elsewhere);
  {
    std::string sealed;
    {
      const Process ended(directory);
      sealed = ended.server.request_states().seal({{"n", 1}}, "p", "m", json::object());
    }
    const Process other(directory);
    const auto& states = other.server.request_states();
    EXPECT_EQ(states.open(sealed, "p", "m", json::object()), json({{"n", 1}}));
    EXPECT_EQ(states.open(sealed, "q", "m", json::object()), std::nullopt);
    const Process stranger(elsewhere);
    EXPECT_EQ(stranger.server.request_states().open(sealed, "p", "m", json::object()),
              std::nullopt);
  }
  fs::remove_all(directory);
}

}  // namespace
