// A principal's sessions store no more than their share of the disk.
#include "sessions/state_shares.h"

#include <gtest/gtest.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "sandbox/snapshot_index.h"
#include "sessions/ground.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

class StateSharesTest : public testing::ServicesFixture {
 protected:
  StateShares fresh_shares() { return {parts().ground, store_->session_lists}; }
  // Stores so much, which takes no space.
  void store(const Session& session, std::int64_t bytes) const {
    const std::string state = directory_of(session) + "/state";
    std::filesystem::create_directories(state);
    std::ofstream(state + "/python") << "x";
    ASSERT_EQ(::truncate((state + "/python").c_str(), bytes), 0);
  }
  [[nodiscard]] std::int64_t disk_bytes() const {
    struct statvfs system {};
    EXPECT_EQ(::statvfs(directory_.c_str(), &system), 0);
    return static_cast<std::int64_t>(system.f_blocks) * static_cast<std::int64_t>(system.f_frsize);
  }
};

TEST_F(StateSharesTest, ATenthOfTheDiskIsForOnePrincipal) {
  const Session first = kept();
  const Session second = kept();
  store(first, disk_bytes() / 20 - 4096);
  EXPECT_TRUE(fresh_shares().has_room(principal_));
  store(second, disk_bytes() / 20 + 8192);
  EXPECT_FALSE(fresh_shares().has_room(principal_));
  EXPECT_TRUE(fresh_shares().has_room("another"));
}

TEST_F(StateSharesTest, AllSessionsCountHoweverManyWereUsedSince) {
  const Session oldest = kept();
  store(oldest, disk_bytes() / 10 + 8192);
  execute(
      "WITH RECURSIVE generated(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM generated "
      "WHERE value < 1100) INSERT INTO sessions (id, principal_id, template, status, "
      "ends_with_connection, limits, env, idle_seconds, retention_seconds, created_at, "
      "last_used_at) SELECT 'session_' || value, '" +
      principal_ +
      "', 'host', 'stopped', 0, '{}', '{}', 600, 600, value, 9000000000000000 FROM generated");
  EXPECT_FALSE(fresh_shares().has_room(principal_));
  std::filesystem::remove_all(directory_of(oldest) + "/state");
  EXPECT_TRUE(fresh_shares().has_room(principal_));
}

// A box looks for the file before each snapshot, whenever it was started.
TEST_F(StateSharesTest, ASessionHasAFileForAsLongAsThereIsNoRoom) {
  const Session first = kept();
  const Session second = kept();
  const std::string said = directory_of(second) + "/state/" + sandbox::kShareUsedUp;
  EXPECT_TRUE(fresh_shares().tell(second));
  EXPECT_FALSE(std::filesystem::exists(said));
  store(first, disk_bytes() / 10 + 8192);
  EXPECT_FALSE(fresh_shares().tell(second));
  EXPECT_TRUE(std::filesystem::exists(said));
  store(first, 1);
  EXPECT_TRUE(fresh_shares().tell(second));
  EXPECT_FALSE(std::filesystem::exists(said));
}

TEST_F(StateSharesTest, TheSweepTellsSessionsThatRun) {
  const Session first = kept();
  const Session second = kept();
  const std::string said = directory_of(second) + "/state/" + sandbox::kShareUsedUp;
  store(first, disk_bytes() / 10 + 8192);
  parts().sweeper.sweep({});
  EXPECT_TRUE(std::filesystem::exists(said));
}

// One look at its directory is enough for a session that has stored nothing since.
TEST_F(StateSharesTest, ASessionIsLookedIntoOnceItsDirectoryHasChanged) {
  const Session one = kept();
  const std::string state = directory_of(one) + "/state";
  const auto rests = [&state] {
    const auto before = std::filesystem::last_write_time(state) - std::chrono::minutes(5);
    std::filesystem::last_write_time(state, before);
  };
  StateShares shares(parts().ground, store_->session_lists, std::chrono::milliseconds(0));
  store(one, 1);
  rests();
  EXPECT_TRUE(shares.has_room(principal_));
  ASSERT_EQ(::truncate((state + "/python").c_str(), disk_bytes()), 0);
  EXPECT_TRUE(shares.has_room(principal_)) << "as nobody stores";
  std::filesystem::rename(state + "/python", state + "/python.new");
  std::filesystem::rename(state + "/python.new", state + "/python");
  EXPECT_FALSE(shares.has_room(principal_));
  ASSERT_EQ(::truncate((state + "/python").c_str(), 1), 0);
  EXPECT_TRUE(shares.has_room(principal_)) << "it has changed just now, and may again";
}

TEST_F(StateSharesTest, ItLooksOnceInAWhile) {
  StateShares shares = fresh_shares();
  EXPECT_TRUE(shares.has_room(principal_));
  store(kept(), disk_bytes());
  EXPECT_TRUE(shares.has_room(principal_));
}

}  // namespace
}  // namespace sessions
