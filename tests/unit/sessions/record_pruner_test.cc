// Records of the past go with their files, the oldest first, and never what somebody may read yet.
#include "sessions/audit_table.h"
#include "sessions/past_table.h"
#include "sessions/record_pruner.h"
#include "sessions/run_table.h"
#include "sessions/session_directory.h"
#include "sessions/session_table.h"
#include "sessions/sqlite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "sessions/store.h"
#include "tests/unit/sessions/run_ends.h"
#include "tests/unit/sessions/store_fixture.h"
#include "tests/unit/tools/fake_sandbox.h"

namespace sessions {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDay = 86'400'000;

class RecordPrunerTest : public testing::StoreFixture {
 protected:
  RecordPrunerTest() {
    config_.state_directory = directory_;
    config_.most_limits = sandbox::widest_limits();
    config_.notify = [this](const Notice& notice) { told_.push_back(notice.message); };
    now_.now_ms = base::now_ms();
  }

  void prune(const std::stop_token& stop = {}) {
    const Ground ground(config_, sandbox_);
    RecordPruner(ground, store_->past).prune(stop, now_);
  }
  // Makes the row of a deleted session, of which nothing else is left.
  Session buried() {
    const Session session = created();
    EXPECT_TRUE(store_->sessions.set_status(session.id, SessionStatus::kDestroyed, "").value());
    EXPECT_TRUE(store_->past.set_buried(session.id).ok());
    return session;
  }
  // Adds a run that ended so long ago, with its files.
  std::string ended(const Session& owner, std::int64_t ago_ms, bool is_read = true) {
    const sessions::Run run = inserted(owner);
    EXPECT_TRUE(store_->runs
                    .finish(run.id, testing::end_at(now_.now_ms - ago_ms), {},
                            is_read ? EndRead::kAsItEnds : EndRead::kNot)
                    .value());
    fs::create_directories(files_of(owner).run(run.id));
    std::ofstream(files_of(owner).run(run.id) + "/stdout") << "x";
    fs::create_directories(files_of(owner).calls());
    std::ofstream(files_of(owner).calls() + "/" + run.id) << "x";
    return run.id;
  }
  // Adds a run that ended so long ago and takes about a quarter of a megabyte.
  std::string large(const Session& owner, std::int64_t ago_ms, bool is_read = true) {
    queued_at_ = now_.now_ms - ago_ms;
    const sessions::Run row = inserted(owner);
    sandbox::Run end = testing::end_at(row.queued_at);
    for (int i = 0; i < 25; ++i) end.outputs.push_back({{"text", std::string(10'000, 'x')}});
    EXPECT_TRUE(
        store_->runs.finish(row.id, end, {}, is_read ? EndRead::kAsItEnds : EndRead::kNot).value());
    return row.id;
  }
  // Returns which of them are there.
  std::vector<bool> are_there(const std::vector<std::string>& run_ids) {
    std::vector<bool> found;
    for (const std::string& id : run_ids) found.push_back(number_of_runs(id) == 1);
    return found;
  }
  std::int64_t number_of_runs(const std::string& id) {
    return number_of("SELECT count(*) FROM runs WHERE id = '" + id + "'");
  }
  [[nodiscard]] SessionDirectory files_of(const Session& session) const {
    return {directory_, session.id};
  }
  bool is_there(const std::string& run_id) { return store_->runs.find(principal_, run_id).ok(); }
  // Whether all of its files are, or none.
  bool has_files(const Session& owner, const std::string& run_id) {
    const bool has = fs::exists(files_of(owner).run(run_id));
    EXPECT_EQ(fs::exists(files_of(owner).calls() + "/" + run_id), has);
    return has;
  }

  ManagerConfig config_;
  sandbox::fake::FakeSandbox sandbox_;
  Moment now_;
  std::vector<std::string> told_;
};

TEST_F(RecordPrunerTest, AnOldRunGoesWithItsFilesAndIsTold) {
  const Session session = buried();
  const std::string old = ended(session, 91 * kDay);
  const std::string young = ended(session, 89 * kDay);
  prune();
  EXPECT_FALSE(is_there(old) || has_files(session, old));
  EXPECT_TRUE(is_there(young) && has_files(session, young));
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0], "1 runs deleted: they ended before runs_days, " + old + " to " + old);
}

TEST_F(RecordPrunerTest, ARunStaysThatNobodyHasReadOrThatIsOneOfTheNewest) {
  const Session deleted = created();
  const std::string unread = ended(deleted, 91 * kDay, false);
  ASSERT_TRUE(store_->sessions.set_status(deleted.id, SessionStatus::kDestroyed, "").value());
  const Session lives = created();
  const std::string newest = ended(lives, 91 * kDay);
  config_.retention.runs_mb = 0;
  prune();
  EXPECT_TRUE(is_there(newest) && has_files(lives, newest));
  EXPECT_TRUE(is_there(unread) && has_files(deleted, unread));
  EXPECT_TRUE(told_.empty());
}

TEST_F(RecordPrunerTest, AYoungRunGoesWhereAllTakeTooMuch) {
  config_.retention.runs_mb = 0;
  const Session session = buried();
  const std::string run = ended(session, 1000);
  prune();
  EXPECT_FALSE(is_there(run) || has_files(session, run));
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("all take more than runs_mb"), std::string::npos) << told_[0];
}

TEST_F(RecordPrunerTest, WhereAllTakeTooMuchTheOldestOfWhoHasMostGo) {
  config_.retention.runs_mb = 1;
  const Session little = created_by("little");
  const Session much = created_by("much");
  const std::string oldest = large(little, 9 * kDay);
  std::vector<std::string> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(large(much, (8 - i) * kDay));
  destroy(little);
  destroy(much);
  prune();
  EXPECT_TRUE(are_there({oldest})[0]);
  EXPECT_EQ(are_there(runs), (std::vector<bool>{false, false, true, true, true}));
  ASSERT_FALSE(told_.empty());
  EXPECT_NE(told_[0].find("of who has most"), std::string::npos) << told_[0];
}

TEST_F(RecordPrunerTest, WhoHasNoMoreThanAPartLosesNothingToWhatOthersKeep) {
  config_.retention.runs_mb = 1;
  const Session little = created_by("little");
  const Session much = created_by("much");
  const std::string oldest = large(little, 9 * kDay);
  std::vector<std::string> unread;
  for (int i = 0; i < 6; ++i) unread.push_back(large(much, (8 - i) * kDay, false));
  destroy(little);
  destroy(much);
  prune();
  EXPECT_TRUE(are_there({oldest})[0]);
  EXPECT_EQ(are_there(unread), std::vector<bool>(6, true));
  EXPECT_TRUE(told_.empty());
}

TEST_F(RecordPrunerTest, WhoHasMostAndKeepsItDoesNotKeepTheNextOneFromGivingWay) {
  config_.retention.runs_mb = 1;
  const Session keeps = created_by("keeps");
  const Session gives = created_by("gives");
  for (int i = 0; i < 6; ++i) large(keeps, (20 - i) * kDay, false);
  std::vector<std::string> runs;
  for (int i = 0; i < 4; ++i) runs.push_back(large(gives, (8 - i) * kDay));
  destroy(keeps);
  destroy(gives);
  prune();
  EXPECT_EQ(are_there(runs), (std::vector<bool>{false, false, true, true})) << "its part is half";
}

// The oldest may be much larger than most are.
TEST_F(RecordPrunerTest, WhoGivesWayKeepsItsPart) {
  config_.retention.runs_mb = 1;
  const Session many = created_by("many");
  std::vector<std::string> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(large(many, (8 - i) * kDay));
  for (int i = 0; i < 200; ++i) ended(many, 1000 + i);
  destroy(many);
  prune();
  const std::vector<bool> there = are_there(runs);
  EXPECT_EQ(std::count(there.begin(), there.end(), false), 2) << "what is too much, and no more";
}

TEST_F(RecordPrunerTest, OfTooManyDeletedSessionsThoseOfWhoHasMostGo) {
  config_.retention.deleted_sessions = 4;
  const auto buried_by = [this](const char* name) {
    const Session session = created_by(name);
    destroy(session);
    EXPECT_TRUE(store_->past.set_buried(session.id).ok());
    return session;
  };
  std::vector<Session> sessions;
  for (int i = 0; i < 7; ++i) {
    sessions.push_back(buried_by(i < 2 ? "little" : "much"));
    execute("UPDATE sessions SET ended_at = " + std::to_string(now_.now_ms - kDay + i) +
            " WHERE id = '" + sessions.back().id + "'");
  }
  prune();
  std::vector<bool> found;
  for (const Session& one : sessions) {
    found.push_back(store_->sessions.is_on_record(one.id).value());
  }
  EXPECT_EQ(found, (std::vector<bool>{true, true, false, false, false, true, true}));
}

// They have nothing but how and when they ended: what they printed went as it was deleted.
TEST_F(RecordPrunerTest, RunsThatNobodyHasReadGoWithTheRecordOfTheirDeletedSession) {
  const Session session = buried();
  const std::string unread = ended(session, 1000, false);
  now_.now_ms += 364 * kDay;
  prune();
  EXPECT_TRUE(is_there(unread)) << "it outlives runs_days";
  now_.now_ms += 2 * kDay;
  prune();
  EXPECT_FALSE(store_->sessions.is_on_record(session.id).value());
  EXPECT_EQ(number_of_runs(unread), 0);
}

TEST_F(RecordPrunerTest, ALinkInPlaceOfADirectoryOfRunsIsNotFollowed) {
  const Session session = buried();
  const std::string run = ended(session, 91 * kDay);
  const std::string elsewhere = directory_ + "/elsewhere";
  fs::rename(files_of(session).runs(), elsewhere);
  fs::create_directory_symlink(elsewhere, files_of(session).runs());
  prune();
  EXPECT_FALSE(is_there(run));
  EXPECT_TRUE(fs::exists(elsewhere + "/" + run + "/stdout"));
}

TEST_F(RecordPrunerTest, ASessionThatEndedLongAgoIsForgottenWithAllThatIsKeptOfIt) {
  const Session session = buried();
  const std::string run = ended(session, 1000);
  now_.now_ms += 364 * kDay;
  config_.retention.runs_days = 1000;
  prune();
  EXPECT_TRUE(store_->sessions.is_on_record(session.id).value());
  now_.now_ms += 2 * kDay;
  prune();
  EXPECT_FALSE(store_->sessions.is_on_record(session.id).value());
  EXPECT_FALSE(is_there(run));
  EXPECT_TRUE(store_->audit.of_session(session.id, 10).value().empty());
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_TRUE(told_[0].ends_with(": longer ago than deleted_days")) << told_[0];
}

TEST_F(RecordPrunerTest, OfTooManyDeletedSessionsTheOldestGo) {
  config_.retention.deleted_sessions = 1;
  std::vector<Session> sessions;
  const auto database = Database::open(path()).value();
  for (const char* ended_at : {"3000", "1000", "2000"}) {
    sessions.push_back(buried());
    const std::string sql = std::string("UPDATE sessions SET ended_at = ended_at + ") + ended_at +
                            " WHERE id = '" + sessions.back().id + "'";
    ASSERT_TRUE(database->execute(sql.c_str()).ok());
  }
  const Session lives = created();
  prune();
  EXPECT_TRUE(store_->sessions.is_on_record(lives.id).value());
  EXPECT_TRUE(store_->sessions.is_on_record(sessions[0].id).value());
  EXPECT_FALSE(store_->sessions.is_on_record(sessions[1].id).value());
  EXPECT_FALSE(store_->sessions.is_on_record(sessions[2].id).value());
}

TEST_F(RecordPrunerTest, NothingGoesOnceItIsStopped) {
  const Session session = buried();
  const std::string run = ended(session, 91 * kDay);
  now_.now_ms += 366 * kDay;
  std::stop_source stopped;
  stopped.request_stop();
  prune(stopped.get_token());
  EXPECT_TRUE(is_there(run) && has_files(session, run));
  EXPECT_TRUE(store_->sessions.is_on_record(session.id).value());
  // In between, too: whoever hears of the first deletion asks it to stop.
  const auto prune_one = [&] {
    std::stop_source heard;
    config_.notify = [&heard](const Notice&) { heard.request_stop(); };
    prune(heard.get_token());
  };
  buried();
  prune_one();
  EXPECT_FALSE(is_there(run));
  EXPECT_EQ(store_->past.count_deleted().value(), 2);
  prune_one();
  EXPECT_EQ(store_->past.count_deleted().value(), 1);
}

TEST_F(RecordPrunerTest, MoreThanOneStepIsDoneInOneCall) {
  const Session session = buried();
  for (int i = 0; i < 250; ++i) ended(session, 91 * kDay + i);
  ended(session, 1);
  prune();
  EXPECT_EQ(store_->runs.of_session(session.id, 1000).value().size(), 1U);
  EXPECT_EQ(told_.size(), 3U) << "a hundred in a step";
}

}  // namespace
}  // namespace sessions
