// Marks of servers that start while others sweep: those of the living stay, of the dead none.
#include "sessions/servers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "tests/unit/sessions/store_fixture.h"

namespace {

using sessions::Servers;
namespace fs = std::filesystem;

constexpr int kRounds = 30;

class ServersTest : public sessions::testing::StoreFixture {
 protected:
  std::unique_ptr<Servers> start() {
    auto server = std::make_unique<Servers>(directory_);
    EXPECT_TRUE(server->open().ok());
    return server;
  }
  std::size_t marks() {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_ + "/servers"), fs::directory_iterator()));
  }
};

TEST_F(ServersTest, MarksOfTheLivingStay) {
  const auto one = start();
  std::jthread sweeper([&one](const std::stop_token& stop) {
    while (!stop.stop_requested()) one->sweep();
  });
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::unique_ptr<Servers>> others(3);
    {
      std::vector<std::jthread> threads;
      for (auto& other : others) threads.emplace_back([this, &other] { other = start(); });
    }
    for (const auto& other : others) {
      other->sweep();
      EXPECT_TRUE(one->is_alive(other->own_id())) << round;
    }
    EXPECT_EQ(marks(), 4U) << round;
  }
}

TEST_F(ServersTest, MarksOfTheDeadGo) {
  const auto one = start();
  std::ofstream(directory_ + "/servers/server_of_one_that_was_killed").put('x');
  EXPECT_FALSE(one->is_alive("server_of_one_that_was_killed"));
  one->sweep();
  EXPECT_EQ(marks(), 1U);
  EXPECT_TRUE(one->is_alive(one->own_id()));
}

TEST_F(ServersTest, AServerThatEndsTakesItsMarkWithIt) {
  const auto one = start();
  std::string gone;
  {
    const auto other = start();
    gone = other->own_id();
    EXPECT_NE(gone, one->own_id());
  }
  EXPECT_FALSE(one->is_alive(gone));
  EXPECT_EQ(marks(), 1U);
}

}  // namespace
