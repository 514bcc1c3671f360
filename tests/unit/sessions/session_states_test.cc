// How a session is, its box says; where that is silent, its row and its lock do.
#include "sessions/session_states.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;

class SessionStatesTest : public testing::ServicesFixture {
 protected:
  SessionStates& states() { return parts().states; }
  Session with_status(SessionStatus status) {
    return kept([status](Session& wanted) { wanted.status = status; });
  }
  SessionStatus told(const Session& session) {
    return states().state_of(session).value().session.status;
  }
  std::vector<std::string> earlier(const std::string& than_id, std::size_t most) {
    std::vector<std::string> ids;
    for (const auto& found : states().earlier_with_something(principal_, than_id, most).value()) {
      ids.push_back(found.session.id);
    }
    return ids;
  }
  // Makes one used so long ago, with that many files.
  Session with_files(std::int64_t unused_ms, int files) {
    const Session session =
        kept([unused_ms](Session& wanted) { wanted.last_used_at -= unused_ms; });
    for (int i = 0; i < files; ++i) {
      std::ofstream(directory_of(session) + "/workspace/" + std::to_string(i)) << "x";
    }
    return session;
  }
};

TEST_F(SessionStatesTest, ABoxSaysMoreThanARow) {
  const Session session = running();
  EXPECT_EQ(told(session), SessionStatus::kReady);
  say_busy(session);
  const auto busy = states().state_of(session).value();
  EXPECT_EQ(busy.session.status, SessionStatus::kRunning);
  ASSERT_EQ(busy.active.size(), 1U);
  EXPECT_EQ(busy.active[0].run_id, "run_1");
  sandbox::BoxStatus paused;
  paused.paused = true;
  say(session, paused);
  EXPECT_EQ(told(session), SessionStatus::kPaused);
}

TEST_F(SessionStatesTest, OneWhoseBoxHasDiedIsStoppedAndClearedUpAfter) {
  const Session ready = with_status(SessionStatus::kReady);
  const Session paused = with_status(SessionStatus::kPaused);
  const Session stopped = with_status(SessionStatus::kStopped);
  for (const auto& session : {ready, paused, stopped}) {
    EXPECT_EQ(told(session), SessionStatus::kStopped);
  }
  EXPECT_EQ(parts().ended.take(), (std::vector{ready.id, paused.id}));
}

TEST_F(SessionStatesTest, OneThatWasNotStartedYetIsAsItsRowSays) {
  for (const auto status :
       {SessionStatus::kProvisioning, SessionStatus::kError, SessionStatus::kDestroyed}) {
    EXPECT_EQ(told(with_status(status)), status) << name_of(status);
  }
  EXPECT_TRUE(parts().ended.take().empty());
}

TEST_F(SessionStatesTest, OneThatLivesAndDoesNotAnswerIsAsItsRowSays) {
  const Session session = with_status(SessionStatus::kPaused);
  sandbox_.set_alive(session.id, true);
  fail_call("find", Kind::kUnavailable);
  const auto state = states().state_of(session).value();
  EXPECT_EQ(state.session.status, SessionStatus::kPaused);
  EXPECT_EQ(state.session.error, "its sandbox does not answer at the moment");
  answer_with({});
  EXPECT_EQ(told(session), SessionStatus::kStopped) << "somebody clears up after its box";
  EXPECT_TRUE(parts().ended.take().empty()) << "whoever does has it in hand";
}

TEST_F(SessionStatesTest, AListHasThoseWhoseBoxesSaySo) {
  const Session idle = running();
  const Session busy = running();
  const Session dead = with_status(SessionStatus::kReady);
  const Session destroyed = with_status(SessionStatus::kDestroyed);
  say_busy(busy);
  const auto listed = [&](const std::optional<SessionStatus>& status) {
    std::set<std::string> ids;
    const auto all = states().list(principal_, status).value();
    for (const auto& state : *all) {
      ids.insert(state.session.id);
    }
    return ids;
  };
  using Ids = std::set<std::string>;
  EXPECT_EQ(listed({}), (Ids{idle.id, busy.id, dead.id}));
  EXPECT_EQ(listed(SessionStatus::kReady), Ids{idle.id});
  EXPECT_EQ(listed(SessionStatus::kRunning), Ids{busy.id});
  EXPECT_EQ(listed(SessionStatus::kStopped), Ids{dead.id});
  EXPECT_EQ(listed(SessionStatus::kDestroyed), Ids{destroyed.id});
  EXPECT_EQ(calls("find", destroyed.id), 0) << "nothing of it can answer";
  EXPECT_TRUE(states().list("another principal", {}).value()->empty());
}

TEST_F(SessionStatesTest, OnlyAPauseThatWasAskedForIsSleep) {
  const auto paused = [](bool on_request) {
    sandbox::BoxStatus status;
    status.paused = true;
    status.paused_on_request = on_request;
    return status;
  };
  const Session ready = running();
  say(ready, paused(true));
  EXPECT_FALSE(states().sleeps(ready)) << "nothing can have paused it";
  Session session = running([](Session& wanted) { wanted.pauses_at_end = true; });
  say(session, paused(true));
  EXPECT_TRUE(states().sleeps(session)) << "its time may be over";
  say(session, paused(false));
  EXPECT_FALSE(states().sleeps(session)) << "it is only idle";
  fail_call("find", Kind::kUnavailable);
  EXPECT_FALSE(states().sleeps(session));
  session.status = SessionStatus::kPaused;
  EXPECT_TRUE(states().sleeps(session)) << "all that is known is its row";
}

TEST_F(SessionStatesTest, EarlierSessionsAreThoseThatHoldFiles) {
  const Session oldest = with_files(4000, 1);
  const Session empty = with_files(3000, 0);
  const Session older = with_files(2000, 1);
  const Session own = with_files(1000, 1);
  const Session gone = with_files(500, 1);
  std::filesystem::remove_all(directory_of(gone));
  EXPECT_EQ(earlier(own.id, 10), (std::vector{older.id, oldest.id}));
  EXPECT_EQ(earlier(own.id, 1), (std::vector{older.id}));
}

TEST_F(SessionStatesTest, OneWithoutABoxWhoseStateLiesOnTheDiskIsStored) {
  const Session session = with_status(SessionStatus::kStopped);
  EXPECT_EQ(told(session), SessionStatus::kStopped);
  std::filesystem::create_directories(directory_of(session) + "/state");
  std::ofstream(directory_of(session) + "/state/bash.1") << "x";
  EXPECT_EQ(told(session), SessionStatus::kStored);
  EXPECT_EQ(told(with_status(SessionStatus::kError)), SessionStatus::kError);
}

TEST_F(SessionStatesTest, EarlierSessionsAreThoseWithVariablesToo) {
  const Session stored = with_files(2000, 0);
  std::filesystem::create_directories(directory_of(stored) + "/state");
  std::ofstream(directory_of(stored) + "/state/bash.0") << "x";
  EXPECT_EQ(earlier("", 10), (std::vector<std::string>{}));
  std::ofstream(directory_of(stored) + "/state/python") << "x";
  EXPECT_EQ(earlier("", 10), (std::vector{stored.id}));
}

TEST_F(SessionStatesTest, FilesOfEarlierSessionsAreCountedUpToABound) {
  const Session full = with_files(0, 100);
  const auto count = [&] {
    return states().earlier_with_something(principal_, "", 1).value().at(0);
  };
  EXPECT_EQ(count().entries, 100);
  EXPECT_FALSE(count().has_more);
  std::ofstream(directory_of(full) + "/workspace/one_more") << "x";
  EXPECT_EQ(count().entries, 100);
  EXPECT_TRUE(count().has_more);
}

}  // namespace
}  // namespace sessions
