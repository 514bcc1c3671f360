// Each run gets one end, from its row, its record or its box, whoever finds it out first.
#include "sessions/file_table.h"
#include "sessions/ground.h"
#include "sessions/manager_config.h"
#include "sessions/run_ledger.h"
#include "sessions/run_table.h"
#include "sessions/session_directory.h"
#include "sessions/session_table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"
#include "tests/unit/tools/fake_sandbox.h"

namespace sessions {
namespace {

namespace fs = std::filesystem;
using base::Error;
using sandbox::RunStatus;

class RunLedgerTest : public testing::StoreFixture {
 protected:
  using Row = sessions::Run;

  RunLedgerTest() : session_(created()) {
    config_.state_directory = directory_;
    config_.notify = [this](const Notice& notice) { notices_.push_back(notice); };
    ground_.emplace(config_, sandbox_);
    EXPECT_TRUE(ground_->servers.open().ok());
    ledger_.emplace(*ground_, store_->runs, store_->sessions);
  }

  [[nodiscard]] Row row_of(const Row& run) const {
    return store_->runs.find(principal_, run.id).value();
  }
  [[nodiscard]] std::string directory_of(const Row& run) const {
    const std::string path = ground_->files_of(run.session_id).run(run.id);
    fs::create_directories(path);
    return path;
  }
  // As a box writes it down.
  void write_record(const Row& run, const sandbox::Run& ended) const {
    std::ofstream(directory_of(run) + "/record.json") << sandbox::run_to_json(ended).dump();
  }
  static sandbox::Run ended_run(const Row& run, RunStatus status = RunStatus::kCompleted) {
    sandbox::Run ended;
    ended.run_id = run.id;
    ended.status = status;
    ended.finished_at_ms = 5;
    return ended;
  }
  RunStatus settled(const Row& run, RunLedger::Owner owner = RunLedger::Owner::kUnknown) {
    return ledger_->settle(run, owner).value().status;
  }
  // A box of its session that lives and answers a wait so, before it looks for the run.
  void start_box(std::function<base::Status(const std::string&)> on_wait) {
    sandbox_.hook_boxes({.wait = std::move(on_wait)});
    sandbox::BoxSpec spec;
    spec.session_id = session_.id;
    fs::create_directories(ground_->files_of(session_.id).path());
    ASSERT_TRUE(sandbox_.start(spec, ground_->own(session_.id).value()).ok());
    sandbox_.set_alive(session_.id, true);
  }

  const Session session_;
  ManagerConfig config_;
  sandbox::fake::FakeSandbox sandbox_;
  std::vector<Notice> notices_;
  std::optional<Ground> ground_;
  std::optional<RunLedger> ledger_;
};

TEST_F(RunLedgerTest, ARecordOnDiskIsTheEndAndItsFilesAreWrittenDown) {
  const Row run = inserted(session_);
  sandbox::Run ended = ended_run(run);
  ended.files_changed = {{"/workspace/a.txt", "created", 4}};
  write_record(run, ended);
  EXPECT_EQ(settled(run), RunStatus::kCompleted);
  EXPECT_EQ(row_of(run).status, "completed");
  EXPECT_FALSE(row_of(run).was_read);
  EXPECT_EQ(store_->files.changes(session_.id, 0, {"/workspace/a.txt"}).value().size(), 1U);
  EXPECT_TRUE(notices_.empty());
}

TEST_F(RunLedgerTest, WhatIsNoRecordOfTheRunIsNone) {
  const Row other = inserted(session_);
  for (const std::string& text : {std::string(), std::string("{\"run_id\":"), std::string("[]"),
                                  sandbox::run_to_json(ended_run(other)).dump()}) {
    const Row run = inserted(session_);
    std::ofstream(directory_of(run) + "/record.json") << text;
    EXPECT_EQ(settled(run), RunStatus::kFailed) << text;
  }
  const Row linked = inserted(session_);
  std::ofstream(directory_ + "/elsewhere") << sandbox::run_to_json(ended_run(linked)).dump();
  fs::create_symlink(directory_ + "/elsewhere", directory_of(linked) + "/record.json");
  EXPECT_EQ(settled(linked), RunStatus::kFailed) << "a link";
}

TEST_F(RunLedgerTest, ALostRunSaysWhatIsLeftOfItAndTheOperatorHears) {
  const Row run = inserted(session_);
  std::ofstream(directory_of(run) + "/stdout") << "12345";
  const auto lost = ledger_->settle(run).value();
  EXPECT_EQ(lost.status, RunStatus::kFailed);
  EXPECT_EQ(lost.stdout_bytes, 5);
  EXPECT_EQ(lost.stderr_bytes, 0);
  ASSERT_TRUE(lost.error.has_value());
  EXPECT_EQ(lost.error->cause, sandbox::Cause::kSandboxLost);
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_EQ(notices_[0].run_id, run.id);
  EXPECT_EQ(ledger_->settle(row_of(run)).value().finished_at_ms, lost.finished_at_ms);
  EXPECT_EQ(notices_.size(), 1U) << "once";
}

TEST_F(RunLedgerTest, VariablesThatWereStoredAreNotCalledLost) {
  EXPECT_EQ(ledger_->settle(inserted(session_)).value().error->lost,
            "variables and processes lost");
  const std::string state = ground_->files_of(session_.id).state();
  fs::create_directories(state);
  std::ofstream(state + "/python") << "a snapshot";
  EXPECT_EQ(ledger_->settle(inserted(session_)).value().error->lost,
            "processes lost; the session wakes with the variables that were last stored, after a "
            "run before this one");
  config_.autosave_mb = 0;
  const Ground without(config_, sandbox_);
  RunLedger other(without, store_->runs, store_->sessions);
  EXPECT_EQ(other.settle(inserted(session_)).value().error->lost, "variables and processes lost");
}

TEST_F(RunLedgerTest, ARunThatIsHandedOverJustNowIsNotLost) {
  Row run = inserted(session_);
  run.server_id = ground_->servers.own_id();
  EXPECT_EQ(settled(run), RunStatus::kQueued);
  EXPECT_FALSE(row_of(run).has_ended());
  run.queued_at -= 3'600'000;
  EXPECT_EQ(settled(run), RunStatus::kFailed) << "nobody takes so long for it";
}

TEST_F(RunLedgerTest, ASilentBoxLeavesTheQuestionOpenUnlessWeHoldItsLock) {
  const Row run = inserted(session_);
  sandbox_.set_alive(session_.id, true);
  EXPECT_EQ(settled(run), RunStatus::kQueued);
  start_box([](const std::string&) {
    return base::Status(base::error(Error::Kind::kUnavailable, "it is silent"));
  });
  EXPECT_EQ(settled(run), RunStatus::kQueued);
  EXPECT_FALSE(row_of(run).has_ended());
  EXPECT_EQ(settled(run, RunLedger::Owner::kUs), RunStatus::kFailed);
}

TEST_F(RunLedgerTest, ABoxThatNeverHeardOfItMayHaveComeAfterItsEnd) {
  const Row recorded = inserted(session_);
  const Row unknown = inserted(session_);
  start_box([&](const std::string& run_id) {
    if (run_id == recorded.id) write_record(recorded, ended_run(recorded));
    return base::done();  // and then it looks, and has none of them
  });
  EXPECT_EQ(settled(recorded), RunStatus::kCompleted);
  EXPECT_EQ(settled(unknown), RunStatus::kFailed);
}

TEST_F(RunLedgerTest, TheFirstEndIsTheOneThatAllAreTold) {
  constexpr int kRunsRaced = 20;
  for (int i = 0; i < kRunsRaced; ++i) {
    const Row run = inserted(session_);
    std::vector<RunStatus> told(2);
    {
      const std::jthread one(
          [&] { told[0] = ledger_->commit(run, ended_run(run), Reader::kNobody).value().status; });
      const std::jthread other([&] { told[1] = settled(run); });
    }
    EXPECT_EQ(told[0], told[1]);
    EXPECT_EQ(row_of(run).status, sandbox::name_of(told[0]));
  }
}

TEST_F(RunLedgerTest, AnEndIsReadOnceAClientGetsItFromWhomever) {
  const Row run = inserted(session_);
  ASSERT_TRUE(ledger_->commit(run, ended_run(run), Reader::kNobody).ok());
  ASSERT_TRUE(ledger_->settle(row_of(run)).ok());
  EXPECT_FALSE(row_of(run).was_read);
  ASSERT_TRUE(ledger_->commit(run, ended_run(run), Reader::kClient).ok());
  EXPECT_TRUE(row_of(run).was_read) << "somebody else knew first";
  const Row other = inserted(session_);
  ASSERT_TRUE(ledger_->commit(other, ended_run(other), Reader::kNobody).ok());
  ASSERT_TRUE(ledger_->settle(row_of(other), {}, Reader::kClient).ok());
  EXPECT_TRUE(row_of(other).was_read);
}

TEST_F(RunLedgerTest, RunsOfADeletedSessionAreCancelledAndNotLost) {
  const Row run = inserted(session_);
  const Row refused = inserted(session_);
  ASSERT_TRUE(store_->sessions.set_status(session_.id, SessionStatus::kDestroyed, "").ok());
  ASSERT_TRUE(ledger_->refuse(refused, "no room").ok());
  ASSERT_TRUE(ledger_->settle_all(session_.id, RunLedger::Owner::kUs).ok());
  EXPECT_EQ(row_of(run).status, "cancelled");
  EXPECT_EQ(row_of(refused).status, "cancelled");
  EXPECT_TRUE(store_->runs.unfinished(session_.id).value().empty());
  EXPECT_TRUE(notices_.empty());
}

}  // namespace
}  // namespace sessions
