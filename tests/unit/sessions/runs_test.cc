// A run that was accepted has one row and one end, which is told to all who may ask for it.
#include "sessions/principal_table.h"
#include "sessions/run_table.h"
#include "sessions/runs.h"
#include "sessions/session_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "sessions/store.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

using base::Error;
using sandbox::RunRequest;
using sandbox::RunStatus;

class RunsTest : public testing::ServicesFixture {
 protected:
  Runs& runs() {
    if (!runs_) runs_.emplace(parts().ground, store_->runs, parts().ledger, parts().boxes);
    return *runs_;
  }
  static RunRequest request(const std::string& code = "1") {
    RunRequest wanted;
    wanted.code = code;
    return wanted;
  }
  std::vector<sessions::Run> rows_of(const Session& session) {
    return store_->runs.of_session(session.id, 100).value();
  }
  bool was_read(const std::string& run_id) {
    return store_->runs.find(principal_, run_id).value().was_read;
  }

 private:
  std::optional<Runs> runs_;
};

TEST_F(RunsTest, ARunWithoutABoxHasNoRow) {
  const Session session = kept();
  sandbox_.fail_starts_with(base::error(Error::Kind::kCapacity, "no memory is left"));
  const auto started = runs().start(session, request());
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().kind, Error::Kind::kCapacity);
  EXPECT_TRUE(rows_of(session).empty());
}

TEST_F(RunsTest, ARunThatItsBoxRefusesIsNotLeftOpen) {
  const Session session = kept();
  sandbox_.hook_boxes({.submit = [](const RunRequest&) {
    return base::Status(base::error(Error::Kind::kLimit, "64 runs wait already"));
  }});
  const auto started = runs().start(session, request());
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().message, "64 runs wait already");
  ASSERT_EQ(rows_of(session).size(), 1U);
  EXPECT_EQ(rows_of(session)[0].status, "failed");
  EXPECT_TRUE(rows_of(session)[0].was_read) << "its caller has heard it";
  const auto told = runs().wait(principal_, rows_of(session)[0].id, {}, {}).value();
  EXPECT_EQ(told.run.error.value().message, "64 runs wait already");
}

TEST_F(RunsTest, ARunThatADyingBoxHadAcceptedIsNotRunAgain) {
  const Session session = kept();
  int submitted = 0;
  sandbox_.hook_boxes({.submit = [&](const RunRequest& wanted) {
    ++submitted;
    const SessionDirectory files(directory_, session.id);
    std::filesystem::create_directories(files.run(wanted.run_id));
    sandbox::Run ended;
    ended.run_id = wanted.run_id;
    ended.status = RunStatus::kTimedOut;
    std::ofstream(files.record(wanted.run_id)) << sandbox::run_to_json(ended).dump();
    return base::Status(base::error(Error::Kind::kUnavailable, "the box has ended"));
  }});
  EXPECT_EQ(runs().start(session, request()).value().run.status, RunStatus::kTimedOut);
  EXPECT_EQ(submitted, 1);
}

TEST_F(RunsTest, AnEndThatNobodyIsThereToGetIsNotRead) {
  const Session session = kept();
  std::stop_source gone;
  bool goes = false;
  sandbox_.hook_boxes({.wait = [&](const std::string&) {
    if (goes) gone.request_stop();  // the client, while its call waits for the box
    return base::done();
  }});
  ASSERT_TRUE(runs().start(session, request()).ok());
  const auto run = inserted(session);
  RunRequest of_row = request();
  of_row.run_id = run.id;
  ASSERT_TRUE(sandbox_.find(session.id).value()->submit(of_row).ok());
  goes = true;
  EXPECT_EQ(runs().wait(principal_, run.id, {}, gone.get_token()).value().run.status,
            RunStatus::kCompleted);
  EXPECT_FALSE(was_read(run.id));
  ASSERT_TRUE(runs().wait(principal_, run.id, {}, gone.get_token()).ok());
  EXPECT_FALSE(was_read(run.id)) << "nor from its row";
  ASSERT_TRUE(runs().wait(principal_, run.id, {}, {}).ok());
  EXPECT_TRUE(was_read(run.id));
}

TEST_F(RunsTest, AnotherPrincipalNeitherSeesNorTouchesARun) {
  const Session session = kept();
  int cancelled = 0;
  sandbox_.hook_boxes({.cancel = [&cancelled](const std::string&) {
    ++cancelled;
    return base::done();
  }});
  const auto started = runs().start(session, request(sandbox::fake::kEndless)).value();
  ASSERT_EQ(started.run.status, RunStatus::kRunning);
  const std::string& run = started.run.run_id;
  const std::string other = store_->principals.ensure("other").value();
  EXPECT_EQ(runs().wait(other, run, {}, {}).error().kind, Error::Kind::kNotFound);
  EXPECT_EQ(runs().cancel(other, run).error().kind, Error::Kind::kNotFound);
  EXPECT_EQ(runs().input_of(other, run).error().kind, Error::Kind::kNotFound);
  EXPECT_EQ(runs().end_input(other, run).error().kind, Error::Kind::kNotFound);
  EXPECT_EQ(cancelled, 0);
  EXPECT_TRUE(runs().end_input(principal_, run).ok());
}

TEST_F(RunsTest, ARunThatHasEndedIsNeitherCancelledNorWrittenTo) {
  const Session session = kept();
  int cancelled = 0;
  sandbox_.hook_boxes({.cancel = [&cancelled](const std::string&) {
    ++cancelled;
    return base::done();
  }});
  const std::string ended = runs().start(session, request()).value().run.run_id;
  EXPECT_EQ(runs().cancel(principal_, ended).value().run.status, RunStatus::kCompleted);
  EXPECT_EQ(cancelled, 0);
  EXPECT_EQ(runs().input_of(principal_, ended).error().message, "this run has ended");
  EXPECT_EQ(runs().end_input(principal_, ended).error().message, "this run has ended");
}

TEST_F(RunsTest, ACancellationThatFailsIsToldUnlessItsBoxNeverHadTheRun) {
  const Session session = kept();
  Error::Kind kind = Error::Kind::kUnavailable;
  sandbox_.hook_boxes({.cancel = [&kind](const std::string&) {
    return base::Status(base::error(kind, "it cannot be cancelled"));
  }});
  const auto started = runs().start(session, request(sandbox::fake::kEndless)).value();
  EXPECT_EQ(runs().cancel(principal_, started.run.run_id).error().kind, Error::Kind::kUnavailable);
  EXPECT_EQ(rows_of(session)[0].status, "running");
  kind = Error::Kind::kNotFound;
  const auto lost = inserted(session);
  EXPECT_EQ(runs().cancel(principal_, lost.id).value().run.status, RunStatus::kFailed);
}

TEST_F(RunsTest, ASessionsOwnBoundOfARunHoldsUpToTheOperators) {
  config_.most_limits.run_seconds = 300;
  Session session = kept();
  const std::int64_t usual = config_.default_limits.run_seconds;
  session.limits.run_seconds = usual;
  EXPECT_EQ(runs().longest_seconds(session), 300) << "it has asked for none";
  session.limits.run_seconds = 10;
  EXPECT_EQ(runs().longest_seconds(session), 10);
  session.limits.run_seconds = 500;
  EXPECT_EQ(runs().longest_seconds(session), 300) << "the operator allows less now";
}

TEST_F(RunsTest, ATimeThatIsRefusedIsRefusedWithWhoseBoundItIs) {
  config_.most_limits.run_seconds = 300;
  Session session = kept();
  EXPECT_EQ(runs().check_seconds(session, 300).value(), 300);
  EXPECT_EQ(runs().check_seconds(session, 1).value(), 1);
  for (const std::int64_t bad : {-1, 0, 301}) {
    const auto checked = runs().check_seconds(session, bad);
    ASSERT_FALSE(checked.ok()) << bad;
    EXPECT_EQ(checked.error().kind, Error::Kind::kInvalid);
    EXPECT_NE(checked.error().message.find("from 1 to 300; run_seconds in [max_limits]"),
              std::string::npos)
        << checked.error().message;
  }
  session.limits.run_seconds = 10;
  EXPECT_NE(runs().check_seconds(session, 11).error().message.find("limits.run_seconds of this"),
            std::string::npos);
  Quotas widest;
  widest.most_limits = sandbox::widest_limits();
  parts().ground.quotas.change(widest);
  session.limits = {};
  EXPECT_TRUE(runs().check_seconds(session, sandbox::kRunSecondsMax).ok());
  const auto most = runs().check_seconds(session, sandbox::kRunSecondsMax + 1);
  EXPECT_TRUE(most.error().message.ends_with("to 600")) << "nobody can allow more";
}

}  // namespace
}  // namespace sessions
