// Marks of servers that start while others sweep: those of the living stay, of the dead none.
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "sessions/manager.h"
#include "tests/unit/sessions/store_fixture.h"
#include "tests/unit/tools/fake_sandbox.h"

namespace {

using namespace sessions;
namespace fs = std::filesystem;

constexpr int kRounds = 30;

class ServerMarks : public sessions::testing::StoreFixture {
 protected:
  std::unique_ptr<Manager> start() {
    ManagerConfig config;
    config.state_directory = directory_;
    config.sweep_interval = std::chrono::milliseconds(0);
    config.sweep_others = [this] { ++sweeps_; };
    return Manager::open(config, *store_, sandbox_).value();
  }
  void wait_for_sweeps(int count) {
    for (const int until = sweeps_ + count; sweeps_ < until;) std::this_thread::yield();
  }
  std::size_t marks() {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_ + "/servers"), fs::directory_iterator()));
  }

  std::atomic<int> sweeps_ = 0;
  sandbox::fake::FakeSandbox sandbox_;
};

TEST_F(ServerMarks, OfTheLivingStay) {
  const auto one = start();
  for (int round = 0; round < kRounds; ++round) {
    std::array<std::unique_ptr<Manager>, 3> others;
    {
      std::vector<std::jthread> threads;
      for (auto& other : others) threads.emplace_back([this, &other] { other = start(); });
    }
    wait_for_sweeps(4);
    EXPECT_EQ(marks(), 4U) << round;
  }
}

TEST_F(ServerMarks, OfTheDeadGo) {
  fs::create_directories(directory_ + "/servers");
  std::ofstream(directory_ + "/servers/server_of_one_that_was_killed").put('x');
  const auto one = start();
  wait_for_sweeps(2);
  EXPECT_EQ(marks(), 1U);
}

}  // namespace
