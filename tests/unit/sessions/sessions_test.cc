// Sessions are made as they are asked for, found by their principal alone, and end once.
#include "sessions/sessions.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sessions/host_id.h"
#include "sessions/principal_table.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"
#include "sessions/sqlite.h"
#include "sessions/store.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;

// While it lives this process opens nothing more.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int lowest = ::dup(STDIN_FILENO);
    ::close(lowest);
    const rlimit none{static_cast<rlim_t>(lowest), before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

class SessionsTest : public testing::ServicesFixture {
 protected:
  Sessions& sessions() { return parts().sessions; }
  // Asks several times at once; returns the ids of what they got.
  static std::set<std::string> ids_of_many(const std::function<base::Result<Session>()>& ask) {
    std::vector<std::string> ids(8);
    std::latch all(8);
    {
      std::vector<std::jthread> clients;
      for (std::string& id : ids) {
        clients.emplace_back([&] {
          all.arrive_and_wait();
          const auto got = ask();
          id = got.ok() ? got.value().id : got.error().message;
        });
      }
    }
    return {ids.begin(), ids.end()};
  }
};

TEST_F(SessionsTest, NothingIsMadeOfWhatMayNotBeAskedFor) {
  const std::vector<std::function<void(SessionOptions&)>> wrong = {
      [](auto& options) { options.name = "session_mine"; },
      [](auto& options) { options.name = "a/b"; },
      [](auto& options) { options.name = std::string(101, 'a'); },
      [](auto& options) { options.lifetime_seconds = 0; },
      [](auto& options) { options.lifetime_seconds = 365LL * 86400 + 1; },
      [](auto& options) { options.limits.emplace().memory_mb = 1; },
      [](auto& options) { options.network.allow = {"not.granted.example"}; },
      [](auto& options) { options.filesystem.read_write = {"/mnt/not_granted"}; },
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    SessionOptions options;
    wrong[i](options);
    EXPECT_EQ(sessions().create(principal_, options).error().kind, Kind::kInvalid) << i;
  }
  SessionOptions unknown;
  unknown.template_name = "no_such_environment";
  EXPECT_FALSE(sessions().create(principal_, unknown).ok());
  EXPECT_TRUE(store_->session_lists.live().value().empty());
  EXPECT_EQ(calls("start"), 0);
}

TEST_F(SessionsTest, NothingIsLeftOfASessionThatFoundNoDescriptor) {
  SessionOptions options;
  options.name = "wanted";
  ASSERT_TRUE(sessions().create(principal_, {}).ok()) << "what is opened once is open";
  {
    const NoDescriptors none;
    const auto refused = sessions().create(principal_, options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, Kind::kCapacity) << refused.error().message;
  }
  EXPECT_EQ(store_->session_lists.live().value().size(), 1U);
  EXPECT_TRUE(sessions().create(principal_, options).ok()) << "the name is free";
}

TEST_F(SessionsTest, ManyWhoAskForANameAtOnceGetOneSession) {
  const auto ids = ids_of_many(
      [this, &all = sessions()] { return all.find_or_create_named(principal_, "mine"); });
  EXPECT_EQ(ids, std::set<std::string>{sessions().find(principal_, "mine").value().id});
  EXPECT_EQ(calls("start"), 1);
}

TEST_F(SessionsTest, AConnectionHasOneSessionUntilThatIsDeleted) {
  const auto ask = [this, &all = sessions()] {
    return all.session_of_connection(principal_, "connection");
  };
  const auto ids = ids_of_many(ask);
  ASSERT_EQ(ids.size(), 1U);
  const Session first = sessions().find(principal_, *ids.begin()).value();
  EXPECT_TRUE(first.ends_with_connection);
  EXPECT_EQ(first.connection_server, parts().ground.servers.own_id());
  const std::string other = store_->principals.ensure("other").value();
  EXPECT_NE(sessions().session_of_connection(other, "connection").value().id, first.id);
  ASSERT_TRUE(sessions().destroy(principal_, first.id).ok());
  EXPECT_NE(ask().value().id, first.id);
}

TEST_F(SessionsTest, AConnectionWhoseClientComesBackSaysWhichServerHasIt) {
  config_.connections_end_with_server = false;
  const Session made = sessions().session_of_connection(principal_, "connection").value();
  EXPECT_EQ(made.connection_server, "lasting " + parts().ground.servers.own_id());
  sessions().connection_ended("connection");
  EXPECT_FALSE(row_of(made).connection_server);
}

TEST_F(SessionsTest, AForeignSessionIsAnUnknownOne) {
  const Session mine = kept();
  const std::string other = store_->principals.ensure("other").value();
  EXPECT_EQ(sessions().find(principal_, host_id(mine.id)).value().id, mine.id);
  const auto unknown = sessions().find(other, "session_0123456789ab").error();
  for (const std::string& id : {mine.id, host_id(mine.id)}) {
    const auto foreign = sessions().find(other, id).error();
    EXPECT_EQ(foreign.kind, Kind::kNotFound);
    EXPECT_EQ(foreign.message, unknown.message);
  }
  EXPECT_EQ(sessions().destroy(other, mine.id).error().kind, Kind::kNotFound);
  EXPECT_EQ(sessions().resume(other, mine.id).error().kind, Kind::kNotFound);
  EXPECT_EQ(status_of(mine), SessionStatus::kStopped);
}

TEST_F(SessionsTest, ASessionIsDeletedOnce) {
  const Session session = running();
  ASSERT_TRUE(sessions().destroy(principal_, session.id).ok());
  EXPECT_EQ(sessions().destroy(principal_, session.id).error().message,
            "this session was deleted before");
  EXPECT_EQ(sessions().resume(principal_, session.id).error().kind, Kind::kNotFound);
  EXPECT_EQ(calls("start"), 1) << "the one that it had";
}

TEST_F(SessionsTest, ABoxThatRefusesAPauseIsNotCalledPaused) {
  const Session session = running();
  fail_call("pause", Kind::kConflict);
  EXPECT_EQ(sessions().pause(principal_, session.id).error().kind, Kind::kConflict);
  EXPECT_EQ(status_of(session), SessionStatus::kReady);
  // It dies while it is asked.
  answer_with([&](const std::string& id, const std::string& call) {
    if (call != "pause") return base::done();
    sandbox_.set_alive(id, false);
    sandbox_.let_go(id);
    return base::Status(base::error(Kind::kUnavailable, "it has ended"));
  });
  EXPECT_EQ(sessions().pause(principal_, session.id).value().session.status,
            SessionStatus::kStopped);
}

TEST_F(SessionsTest, AResumedSessionIsInUse) {
  const Session session = kept();
  EXPECT_EQ(sessions().resume(principal_, session.id).value().session.status,
            SessionStatus::kReady);
  EXPECT_EQ(calls("start"), 1);
  EXPECT_EQ(calls("resume"), 1);
  // It has its box already.
  const auto database = Database::open(path()).value();
  ASSERT_TRUE(database->execute("UPDATE sessions SET last_used_at = 1").ok());
  ASSERT_TRUE(sessions().resume(principal_, session.id).ok());
  EXPECT_GE(row_of(session).last_used_at, session.last_used_at);
}

TEST_F(SessionsTest, ALifetimeIsTheRowsAndTheBoxsToo) {
  const Session session = running([](Session& wanted) {
    wanted.created_at -= 100'000;
    wanted.boot_id.clear();
  });
  ASSERT_TRUE(sessions().set_lifetime(session, 60).ok());
  EXPECT_GE(row_of(session).lifetime_seconds, 160) << "counted from when it was made";
  EXPECT_EQ(calls("set_lifetime"), 1);
  fail_call("set_lifetime", Kind::kUnavailable);
  EXPECT_FALSE(sessions().set_lifetime(session, 60).ok()) << "whoever asked is to ask again";
  sandbox_.let_go(session.id);
  EXPECT_TRUE(sessions().set_lifetime(session, 60).ok()) << "there is no box to be told";
}

TEST_F(SessionsTest, AnEndedConnectionLetsGoOfItsSessionsWithoutAName) {
  SessionOptions options;
  options.connection_id = "connection";
  const Session unnamed = sessions().create(principal_, options).value().session;
  options.name = "named";
  const Session named = sessions().create(principal_, options).value().session;
  sessions().connection_ended("another");
  EXPECT_EQ(calls("let_go"), 0);
  sessions().connection_ended("connection");
  EXPECT_EQ(calls("end_with_connection", unnamed.id), 1);
  EXPECT_EQ(calls("let_go", unnamed.id), 1);
  EXPECT_FALSE(row_of(unnamed).connection_server);
  EXPECT_EQ(calls("end_with_connection", named.id) + calls("let_go", named.id), 0);
  EXPECT_TRUE(store_->sessions.is_live(unnamed.id).value()) << "its files may be somebody's";
}

}  // namespace
}  // namespace sessions
