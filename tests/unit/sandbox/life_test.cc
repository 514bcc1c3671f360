// How long a box stays, what it says of its end, and what the next one tells of it.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/random_id.h"
#include "sandbox/box/loss_record.h"
#include "sandbox/box/life.h"
#include "sandbox/session_lock.h"

namespace {

using namespace sandbox;
using namespace sandbox::box;
using std::chrono::seconds;
using Kind = base::Error::Kind;

// Whether it ends when alone for that long.
bool ends(Situation situation, int alone) {
  situation.alone = seconds(alone);
  return reason_to_end(situation).has_value();
}

Situation named() {
  Situation situation;
  situation.detach = seconds(60);
  situation.paused_max = seconds(1000);
  return situation;
}

TEST(Life, APausedSessionGivesWayWhereTheHostsMemoryIsScarce) {
  Situation situation = named();
  situation.memory_is_scarce = true;
  EXPECT_FALSE(reason_to_end(situation)) << "somebody may be about to use it";
  situation.paused = seconds(0);
  EXPECT_TRUE(reason_to_end(situation));
  situation.memory_is_scarce = false;
  EXPECT_FALSE(reason_to_end(situation));
}

Situation of_connection() {
  Situation situation = named();
  situation.ends_with_connection = true;
  return situation;
}

TEST(Life, ABoxWithAServerStays) {
  Situation situation = of_connection();
  EXPECT_FALSE(reason_to_end(situation));
  situation.paused = seconds(999);
  EXPECT_FALSE(reason_to_end(situation));
}

TEST(Life, AnIdleOneWaitsForItsDetachTime) {
  EXPECT_FALSE(ends(named(), 59));
  EXPECT_TRUE(ends(named(), 60));
  EXPECT_FALSE(ends(of_connection(), 4));
  EXPECT_TRUE(ends(of_connection(), 5));
  Situation served = named();
  served.detach = seconds(600);
  EXPECT_FALSE(ends(served, 599));
  Situation hasty = of_connection();
  hasty.detach = seconds(1);
  EXPECT_TRUE(ends(hasty, 1));
}

TEST(Life, AForegroundRunIsLetFinish) {
  for (Situation situation : {named(), of_connection()}) {
    situation.with_deadline = true;
    EXPECT_FALSE(ends(situation, 600)) << "as long as its deadline may be";
    EXPECT_TRUE(ends(situation, 660)) << "and not for ever";
  }
}

TEST(Life, ABackgroundRunIsEndedAfterItsTime) {
  for (Situation situation : {named(), of_connection()}) {
    situation.without_deadline = true;
    EXPECT_FALSE(ends(situation, 59));
    EXPECT_TRUE(ends(situation, 60));
    situation.detach = seconds(1);
    EXPECT_FALSE(ends(situation, 59)) << "a server that is started again finds it";
    situation.detach = seconds(600);
    EXPECT_FALSE(ends(situation, 599));
  }
}

TEST(Life, APausedOneStaysUntilItsOwnTime) {
  Situation situation = named();
  situation.paused = seconds(999);
  EXPECT_FALSE(ends(situation, 999));
  situation.paused = seconds(1000);
  EXPECT_TRUE(ends(situation, 0));
  situation.alone.reset();
  EXPECT_NE(reason_to_end(situation).value().find("1000 seconds"), std::string::npos);
}

TEST(Life, OfAConnectionOnlyWhatWasAskedToPauseWaits) {
  Situation situation = of_connection();
  situation.paused = seconds(10);
  EXPECT_TRUE(ends(situation, 5)) << "it had fallen asleep";
  situation.paused_on_request = true;
  EXPECT_FALSE(ends(situation, 500));
}

Run run_of(Language language, bool background = false) {
  Run run;
  run.language = language;
  run.background = background;
  return run;
}

class SessionDirectory : public testing::Test {
 protected:
  SessionDirectory() : path(::testing::TempDir() + "hutch_lock_XXXXXX") {
    if (::mkdtemp(path.data()) == nullptr) std::abort();
  }
  ~SessionDirectory() override { std::filesystem::remove_all(path); }

  std::string path;
};

using LockTest = SessionDirectory;
using RecordTest = SessionDirectory;

TEST_F(LockTest, HasOneOwner) {
  {
    const auto mine = SessionLock::take(path);
    ASSERT_TRUE(mine.ok());
    EXPECT_TRUE(SessionLock::is_held(path));
    EXPECT_EQ(SessionLock::take(path).error().kind, Kind::kConflict);
  }
  EXPECT_FALSE(SessionLock::is_held(path));
  EXPECT_TRUE(SessionLock::take(path).ok());
  EXPECT_EQ(SessionLock::take(path + "/nothing").error().kind, Kind::kNotFound);
}

TEST_F(LockTest, IsHeldUntilTheLastWhoSharesTheFileIsGone) {
  base::UniqueFd heir;
  {
    const auto mine = SessionLock::take(path);
    heir = base::UniqueFd(::dup(mine.value().fd()));
    EXPECT_EQ(::flock(heir.get(), LOCK_EX | LOCK_NB), 0) << "as hutch-box makes sure";
  }
  EXPECT_TRUE(SessionLock::is_held(path));
  heir.reset();
  EXPECT_FALSE(SessionLock::is_held(path));
}

TEST_F(LockTest, OfARemovedDirectoryIsNobodys) {
  const auto mine = SessionLock::take(path);
  std::filesystem::remove_all(path);
  EXPECT_EQ(SessionLock::take(path).error().kind, Kind::kNotFound);
}

TEST_F(LockTest, WhoOnlyLooksKeepsNobodyFromIt) {
  std::atomic<bool> over = false;
  std::vector<std::jthread> lookers;
  for (int i = 0; i < 3; ++i) {
    lookers.emplace_back([&] {
      while (!over) (void)SessionLock::is_held(path);
    });
  }
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(SessionLock::take(path).ok());
  over = true;
}

TEST_F(RecordTest, TellsTheNextBoxWhatWasLost) {
  const auto lock = SessionLock::take(path);
  const int fd = lock.value().fd();
  {
    auto record = LossRecord::open(fd).value();
    EXPECT_EQ(record.loss({}), "") << "the first box of a session";
    record.begins(run_of(Language::kPython), false);
    record.begins(run_of(Language::kTypeScript), false);
    record.begins(run_of(Language::kSql, true), false);
    record.ends("the session was paused for 7 seconds", {});
  }
  {
    auto unused = LossRecord::open(fd).value();
    EXPECT_EQ(unused.loss({}),
              "lost, because the session was paused for 7 seconds: variables of python, variables "
              "of javascript; files kept");
    EXPECT_EQ(unused.loss({sandbox::Language::kPython}),
              "lost, because the session was paused for 7 seconds: variables of javascript; files "
              "kept");
    unused.ends("of no use", {});
  }
  auto record = LossRecord::open(fd).value();
  EXPECT_NE(record.loss({}).find("7 seconds"), std::string::npos) << "nobody was told yet";
  record.begins(run_of(Language::kBash, true), false);
  EXPECT_EQ(record.loss({}), "");
  EXPECT_EQ(LossRecord::open(fd).value().loss({}), "") << "told, and nothing new to lose";
}

TEST_F(RecordTest, NamesTheRunsThatWereOnInTheBackground) {
  const auto lock = SessionLock::take(path);
  const int fd = lock.value().fd();
  std::vector<std::string> ids;
  {
    auto record = LossRecord::open(fd).value();
    for (int i = 0; i < 6; ++i) {
      sandbox::Run run = run_of(Language::kBash, true);
      run.run_id = ids.emplace_back(base::short_id("run_"));
      record.begins(run, i == 5);
    }
    record.is_over(ids[0]);
    record.ends("the session was paused for 7 seconds", {});
    for (const std::string& id : ids) record.is_over(id);
  }
  auto record = LossRecord::open(fd).value();
  EXPECT_EQ(record.loss({}),
            "lost, because the session was paused for 7 seconds: background runs " + ids[1] + ", " +
                ids[2] + ", " + ids[3] + ", 1 more (get_run has what was printed); files kept");
  sandbox::Run run = run_of(Language::kPython, true);
  run.run_id = ids[0];
  record.begins(run, false);
  EXPECT_EQ(LossRecord::open(fd).value().loss({}),
            "lost, because its sandbox was killed: the background run " + ids[0] +
                " (get_run has what was printed); files kept");
  record.is_over(ids[0]);
  EXPECT_EQ(LossRecord::open(fd).value().loss({}), "");
}

TEST_F(RecordTest, NamesTheProcessesThatWentOnBeside) {
  const auto lock = SessionLock::take(path);
  const int fd = lock.value().fd();
  const auto ended_with = [fd](const sandbox::box::LeftProcesses& processes) {
    auto record = LossRecord::open(fd).value();
    record.begins(run_of(Language::kBash), false);
    record.ends("it was upgraded", processes);
    return LossRecord::open(fd).value().loss({Language::kBash});
  };
  EXPECT_EQ(ended_with({}), "");
  EXPECT_EQ(ended_with({{{{7}, 0, "npm run dev"}}, 0}),
            "lost, because it was upgraded: the process npm run dev; files kept");
  EXPECT_EQ(ended_with({{{{7}, 0, "npm run dev"}, {{8}, 0, "redis"}}, 3}),
            "lost, because it was upgraded: processes npm run dev, redis, 3 more; files kept");
  auto record = LossRecord::open(fd).value();
  sandbox::Run run = run_of(Language::kBash, true);
  record.begins(run, false);
  EXPECT_EQ(LossRecord::open(fd).value().loss({Language::kBash}).find("npm"), std::string::npos)
      << "it was told";
  record.is_over(run.run_id);
  record.ends("it was upgraded", {{{{7}, 0, "server"}}, 0});
  EXPECT_EQ(LossRecord::open(fd).value().loss({}),
            "lost, because it was upgraded: the process server; files kept")
      << "a run in the background has left it";
}

TEST_F(RecordTest, OfAKilledBoxHasNoReason) {
  const auto lock = SessionLock::take(path);
  LossRecord::open(lock.value().fd()).value().begins(run_of(Language::kBash), false);
  EXPECT_EQ(LossRecord::open(lock.value().fd()).value().loss({}),
            "lost, because its sandbox was killed: working directory and variables of bash; files "
            "kept");
}

TEST_F(RecordTest, ThatMakesNoSenseIsNone) {
  const auto lock = SessionLock::take(path);
  for (const char* text : {"", "{", "[]", R"({"languages":3})", R"({"languages":["x",1,null]})",
                           R"({"languages":{"a":"b"}})"}) {
    ASSERT_EQ(::ftruncate(lock.value().fd(), 0), 0);
    ASSERT_TRUE(::pwrite(lock.value().fd(), text, strlen(text), 0) >= 0);
    const auto record = LossRecord::open(lock.value().fd());
    ASSERT_TRUE(record.ok());
    EXPECT_EQ(record.value().loss({}), "") << text;
  }
}

}  // namespace
