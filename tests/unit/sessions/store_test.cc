// The database as a whole: opened, refused, damaged; several servers; a kill in the middle.
#include "sessions/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/random_id.h"
#include "sessions/file_record.h"
#include "sessions/run_table.h"
#include "sessions/sqlite.h"
#include "sessions/upkeep_table.h"
#include "tests/unit/sessions/run_ends.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;
namespace fs = std::filesystem;

using StoreTest = testing::StoreFixture;

TEST_F(StoreTest, ANewerDatabaseIsRefused) {
  {
    const auto database = Database::open(path()).value();
    ASSERT_TRUE(database->execute("PRAGMA user_version = 99").ok());
  }
  const auto opened = Store::open(path());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, Kind::kUnsupported);
}

TEST_F(StoreTest, ADamagedDatabaseIsAClearError) {
  store_.reset();
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path() + suffix);
  std::ofstream(path()) << std::string(10'000, 'x');
  const auto opened = Store::open(path());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("damaged"), std::string::npos) << opened.error().message;
}

TEST_F(StoreTest, TheFileIsOursAlone) {
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(StoreTest, AnOlderDatabaseThatOthersHaveOpenStaysAsItIs) {
  store_.reset();
  {
    const auto database = Database::open(path()).value();
    ASSERT_TRUE(database->execute("PRAGMA auto_vacuum = NONE; VACUUM").ok());
  }
  // As a server of the same version that was started when another had it open.
  const auto lock = base::open_file(AT_FDCWD, path() + ".lock", O_RDWR).value();
  ASSERT_EQ(::flock(lock.get(), LOCK_SH), 0);
  EXPECT_TRUE(Store::open(path()).ok());
  EXPECT_EQ(number_of("PRAGMA auto_vacuum"), 0);
  ASSERT_EQ(::flock(lock.get(), LOCK_UN), 0);
  store_ = Store::open(path()).value();
  EXPECT_EQ(number_of("PRAGMA auto_vacuum"), 2);
}

TEST_F(StoreTest, WhoeverWatchesHearsOfChangesAndOfFailures) {
  int changed = 0;
  std::vector<std::string> failed;
  store_->watch(
      [&](std::chrono::steady_clock::time_point /*begun*/, const base::Error* failure) {
        if (failure == nullptr) {
          ++changed;
        } else {
          failed.push_back(failure->message);
        }
      },
      nullptr);
  const Session owner = created("n");
  EXPECT_EQ(changed, 1) << "a transaction is one";
  (void)row_of(owner);
  EXPECT_EQ(store_->sessions.create(session("n"), std::nullopt, 10).error().kind, Kind::kConflict);
  EXPECT_EQ(changed, 1);
  EXPECT_TRUE(failed.empty()) << "a name that is taken is no failure of the database";
  execute("DROP TABLE sealing_keys; DROP TABLE upkeep");
  EXPECT_FALSE(store_->upkeep.find().ok());
  EXPECT_EQ(failed.size(), 1U);
}

TEST_F(StoreTest, AWriterKilledAnywhereLeavesADatabaseThatIsRight) {
  const Session owner = created();
  for (int round = 0; round < 5; ++round) {
    const pid_t child = ::fork();  // a test process of one thread
    if (child == 0) {
      const auto store = Store::open(path());
      if (!store.ok()) ::_exit(1);
      while (true) {
        sessions::Run run;
        run.id = base::random_id("run_");
        run.session_id = owner.id;
        run.language = "python";
        run.queued_at = 1;
        (void)store.value()->runs.insert(run);
        (void)store.value()->runs.finish(
            run.id, testing::end_at(1),
            {{owner.id, run.id, "/workspace/a", "created", 1, std::nullopt, 1}});
      }
    }
    const std::size_t before = store_->runs.of_session(owner.id, 1'000'000).value().size();
    while (store_->runs.of_session(owner.id, 1'000'000).value().size() < before + 5) {
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto database = Database::open(path()).value();
    Statement check = database->prepare("PRAGMA integrity_check").value();
    ASSERT_TRUE(check.step().value());
    EXPECT_EQ(check.text(), "ok");
    Statement halves =
        database
            ->prepare(
                "SELECT count(*) FROM runs WHERE (record IS NULL) <> (finished_at IS NULL) OR "
                "(status = "
                "'completed' AND NOT EXISTS (SELECT 1 FROM files WHERE files.run_id = runs.id))")
            .value();
    ASSERT_TRUE(halves.step().value());
    EXPECT_EQ(halves.integer(), 0);
  }
}

TEST(Store, OpensForServersThatStartAtOnce) {
  for (int round = 0; round < 200; ++round) {
    std::string directory = ::testing::TempDir() + "hutch_open_XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    std::barrier start(4);
    std::vector<std::string> failures(4);
    {
      std::vector<std::jthread> servers;
      for (std::string& failure : failures) {
        servers.emplace_back([&] {
          start.arrive_and_wait();
          const auto store = Store::open(directory + "/hutch.db");
          if (!store.ok()) failure = store.error().message;
        });
      }
    }
    ASSERT_EQ(failures, std::vector<std::string>(4)) << "round " << round;
    fs::remove_all(directory);
  }
}

TEST(Transaction, RollsBackUnlessCommitted) {
  std::string directory = ::testing::TempDir() + "hutch_tx_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const auto database = Database::open(directory + "/db").value();
  ASSERT_TRUE(database->execute("CREATE TABLE a (n)").ok());
  {
    const auto transaction = Transaction::begin(*database);
    ASSERT_TRUE(transaction.ok());
    ASSERT_TRUE(database->execute("INSERT INTO a VALUES (1)").ok());
  }
  Statement count = database->prepare("SELECT count(*) FROM a").value();
  ASSERT_TRUE(count.step().value());
  EXPECT_EQ(count.integer(), 0);
  fs::remove_all(directory);
}

}  // namespace
}  // namespace sessions
