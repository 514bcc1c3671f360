// What goes of the past, and what never does.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sessions/audit_table.h"
#include "sessions/file_table.h"
#include "sessions/past_table.h"
#include "sessions/run_table.h"
#include "sessions/session.h"
#include "sessions/session_table.h"
#include "sessions/share_table.h"
#include "sessions/spare_table.h"
#include "sessions/sqlite.h"
#include "tests/unit/sessions/store_fixture.h"

namespace {

using namespace sessions;

constexpr const char* kRecord = R"({"run_id":"run"})";

class RetentionTest : public sessions::testing::StoreFixture {
 protected:
  // Runs of the session that have ended, one after the other.
  void add_runs(const Session& owner, int count, bool are_read = true) {
    for (int i = 0; i < count; ++i) {
      sessions::Run run = inserted(owner);
      ids_.push_back(run.id);
      ASSERT_TRUE(
          store_->runs.finish(run.id, "completed", 1'000'000 + number_++, kRecord, {}, are_read)
              .value());
    }
  }
  // Of all that there are.
  std::vector<std::string> that_may_go() {
    std::vector<std::string> found;
    for (const OldRun& run : store_->past.old_runs({}, 100'000).value()) {
      if (run.may_go) found.push_back(run.id);
    }
    return found;
  }
  void destroy(const Session& owner) {
    EXPECT_TRUE(store_->sessions.set_status(owner.id, SessionStatus::kDestroyed, "").value());
    ASSERT_TRUE(store_->past.set_buried(owner.id).ok());
  }
  std::int64_t number(const std::string& sql) {
    const auto database = Database::open(path()).value();
    Statement select = database->prepare(sql.c_str()).value();
    EXPECT_TRUE(select.step().value());
    return select.integer();
  }

  std::vector<std::string> ids_;
  std::int64_t number_ = 0;
};

TEST_F(RetentionTest, TheNewestThousandOfASessionThatExistsStay) {
  const Session owner = created();
  add_runs(owner, 1000);
  EXPECT_TRUE(that_may_go().empty());
  add_runs(owner, 3);
  EXPECT_EQ(that_may_go().size(), 3U);
  add_runs(created(), 5);
  EXPECT_EQ(that_may_go().size(), 3U) << "of another session";
  destroy(owner);
  EXPECT_EQ(that_may_go().size(), 1003U);
}

TEST_F(RetentionTest, ARunThatNobodyHasReadStays) {
  const Session owner = created();
  add_runs(owner, 1, false);
  add_runs(owner, 1000);
  EXPECT_TRUE(that_may_go().empty());
  ASSERT_TRUE(store_->runs.set_read(ids_[0]).ok());
  EXPECT_EQ(that_may_go(), (std::vector<std::string>{ids_[0]}));
  inserted(owner);
  EXPECT_EQ(that_may_go().size(), 2U) << "one that has not ended is none of the past";
}

TEST_F(RetentionTest, StepsGoOnWhereTheLastOneWas) {
  const Session owner = created();
  add_runs(owner, 25);
  OldRun last;
  std::vector<std::string> seen;
  while (true) {
    const auto step = store_->past.old_runs(last, 10).value();
    if (step.empty()) break;
    EXPECT_LE(step.size(), 10U);
    for (const auto& run : step) seen.push_back(run.id);
    last = step.back();
  }
  EXPECT_EQ(seen, ids_);
}

TEST_F(RetentionTest, WhatIsDeletedIsNotCountedAnyMore) {
  const Session owner = created();
  add_runs(owner, 3);
  ASSERT_TRUE(
      store_->files.record({owner.id, ids_[0], "/workspace/a", "created", 1, std::nullopt, 1})
          .ok());
  const auto bytes = store_->past.bytes_of_runs().value();
  EXPECT_GT(bytes, 3 * static_cast<std::int64_t>(std::string(kRecord).size()));
  ASSERT_TRUE(store_->past.delete_runs({ids_[0], ids_[1]}).ok());
  EXPECT_EQ(store_->past.bytes_of_runs().value(), bytes / 3);
  EXPECT_EQ(store_->runs.counts().value().runs["completed"].runs, 1);
  EXPECT_EQ(number("SELECT count(*) FROM files"), 0);
  EXPECT_FALSE(store_->runs.find(principal_, ids_[0]).ok());
  EXPECT_TRUE(store_->runs.find(principal_, ids_[2]).ok());
}

TEST_F(RetentionTest, CountsAreThoseOfTheRows) {
  const Session owner = created();
  add_runs(owner, 3);
  inserted(owner);
  const auto running = inserted(owner);
  ASSERT_TRUE(store_->runs.set_started(running.id).ok());
  destroy(created());
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  const Session spare =
      store_->sessions.create(session("", kSparePrincipal), std::nullopt, 1000).value();
  const auto before = store_->runs.counts().value().sessions;
  EXPECT_TRUE(store_->spares.adopt(spare.id, session("adopted"), 1000).ok());
  auto counts = store_->runs.counts().value().sessions;
  EXPECT_EQ(counts["provisioning"], before.at("provisioning") + 1);
  for (const auto& [status, count] : counts) {
    EXPECT_EQ(count, number("SELECT count(*) FROM sessions WHERE status = '" + status + "'"))
        << status;
  }
  for (const auto& [status, count] : store_->runs.counts().value().runs) {
    EXPECT_EQ(count.runs, number("SELECT count(*) FROM runs WHERE status = '" + status + "'"))
        << status;
    EXPECT_EQ(count.milliseconds,
              number("SELECT coalesce(sum(finished_at - queued_at), 0) FROM runs WHERE status = '" +
                     status + "'"));
  }
}

TEST_F(RetentionTest, ADeletedSessionIsForgottenInSteps) {
  const Session owner = created();
  const Session other = created();
  add_runs(owner, 150);
  add_runs(owner, 1, false);
  EXPECT_TRUE(store_->past.oldest_deleted(10).value().empty()) << "none is deleted";
  destroy(owner);
  ASSERT_EQ(store_->past.oldest_deleted(10).value().size(), 1U);
  EXPECT_EQ(store_->past.count_deleted().value(), 1);
  EXPECT_FALSE(store_->past.forget_some_of(owner.id).value());
  EXPECT_EQ(store_->runs.counts().value().runs["completed"].runs, 51);
  EXPECT_TRUE(store_->past.forget_some_of(owner.id).value());
  EXPECT_FALSE(store_->sessions.is_on_record(owner.id).value());
  EXPECT_EQ(store_->past.count_deleted().value(), 0);
  EXPECT_EQ(number("SELECT count(*) FROM runs"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM audit WHERE session_id = '" + owner.id + "'"), 0);
  EXPECT_TRUE(store_->sessions.is_live(other.id).value());
  EXPECT_FALSE(store_->audit.of_session(other.id, 10).value().empty());
}

TEST_F(RetentionTest, ADeletedSessionThatHasSharedIsKeptUntilThatIsOver) {
  const Session owner = created();
  Share share;
  share.id = "share";
  share.session_id = owner.id;
  share.principal_id = principal_;
  ASSERT_TRUE(store_->shares.insert(share).ok());
  destroy(owner);
  EXPECT_TRUE(store_->past.oldest_deleted(10).value().empty());
  ASSERT_TRUE(store_->shares.remove(share.id).ok());
  EXPECT_EQ(store_->past.oldest_deleted(10).value().size(), 1U);
}

}  // namespace
