// Rows of sessions: made within their bounds, found by whom they belong to, changed until
// destroyed.
#include "sessions/session_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random_id.h"
#include "sessions/audit_table.h"
#include "sessions/network_table.h"
#include "sessions/past_table.h"
#include "sessions/session_lists.h"
#include "sessions/share_table.h"
#include "sessions/store.h"
#include "tests/unit/sessions/run_ends.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;

class SessionTableTest : public testing::StoreFixture {
 protected:
  static constexpr HostUidRange kOwn{2'000'000'000, 1000};

  Session created_in(SessionStatus status) {
    return created_as([status](Session& wanted) { wanted.status = status; });
  }
  std::size_t renew(const HostUidRange& range = kOwn) {
    return store_->sessions.renew_host_uids(range, [](const std::string&) { return true; }).value();
  }
  std::int64_t uid_of(const Session& session) { return row_of(session).host_uid.value_or(-1); }
  std::size_t audited(const std::string& id) {
    return store_->audit.of_session(id, 100).value().size();
  }
};

TEST_F(SessionTableTest, ASessionComesBackAsItWent) {
  Session wanted = session("name");
  wanted.limits.cpus = 1;
  wanted.env = {{"A", "b"}};
  wanted.metadata = {{"team", "red"}};
  wanted.host_folders = {
      {.name = "sales", .path = "/srv/sales", .writable = true, .blocked = {"x"}}};
  wanted.paths = {.read_only = {"/workspace/a"}, .read_write = {}, .blocked = {"/etc/hosts"}};
  wanted.network =
      NetworkChoice{{"packages"}, {"key"}, {sandbox::parse_address_range("10.0.0.0/8").value()}};

  wanted.lifetime_seconds = 60;
  wanted.ends_with_connection = true;
  const Session made = store_->sessions.create(wanted, std::nullopt, 10).value();
  const Session found = store_->sessions.find(principal_, "name").value();
  EXPECT_EQ(found.id, wanted.id);
  EXPECT_EQ(found.limits, wanted.limits);
  EXPECT_EQ(found.env, wanted.env);
  EXPECT_EQ(found.metadata, wanted.metadata);
  EXPECT_EQ(found.host_folders, wanted.host_folders);
  EXPECT_EQ(found.paths, wanted.paths);
  EXPECT_EQ(found.network, wanted.network);
  EXPECT_EQ(found.lifetime_seconds, 60);
  EXPECT_TRUE(found.ends_with_connection);
  EXPECT_EQ(found.status, SessionStatus::kProvisioning);
  EXPECT_FALSE(found.host_uid);
  EXPECT_EQ(store_->sessions.find(principal_, wanted.id).value().name, "name");
}

TEST_F(SessionTableTest, ItsTimesAndItsConnectionComeBack) {
  const Session made = created_as([](Session& wanted) {
    wanted.idle_seconds = 11;
    wanted.retention_seconds = 12;
    wanted.created_at = 13;
    wanted.last_used_at = 14;
    wanted.boot_id = "boot";
    wanted.boot_offset_ms = 15;
    wanted.connection_server = "server";
    wanted.unasked = true;
    wanted.template_name = "other";
  });
  const Session found = row_of(made);
  EXPECT_EQ(found.idle_seconds, 11);
  EXPECT_EQ(found.retention_seconds, 12);
  EXPECT_EQ(found.created_at, 13);
  EXPECT_EQ(found.last_used_at, 14);
  EXPECT_EQ(found.boot_id, "boot");
  EXPECT_EQ(found.boot_offset_ms, 15);
  EXPECT_EQ(found.connection_server, "server");
  EXPECT_TRUE(found.unasked);
  EXPECT_EQ(found.template_name, "other");
  EXPECT_FALSE(found.name || found.lifetime_seconds || found.ended_at || found.error);
}

TEST_F(SessionTableTest, WhatE2bsSdksWantComesBack) {
  const Session made = store_->sessions.create(session_of_e2b(), std::nullopt, 10).value();
  expect_of_e2b(store_->sessions.find(principal_, made.id).value());
  const Session usual = created();
  EXPECT_EQ(usual.working_directory, sandbox::kWorkspace);
  EXPECT_TRUE(!usual.public_ports && usual.wakes_by_port && !usual.pauses_at_end);
  EXPECT_FALSE(usual.port_host);
  EXPECT_EQ(absolute_path(made, "a/b"), "/home/user/a/b");
  EXPECT_EQ(absolute_path(usual, "/a"), "/a");
  EXPECT_FALSE(store_->sessions.find(principal_, usual.id).value().network);
  ASSERT_TRUE(store_->sessions.set_network(usual.id, NetworkChoice()).ok());
  EXPECT_EQ(store_->sessions.find(principal_, usual.id).value().network, NetworkChoice());
  const auto newest = store_->session_lists.newest_used(1).value();
  ASSERT_EQ(newest.size(), 1U);
}

TEST_F(SessionTableTest, StatusesHaveNames) {
  for (const char* name :
       {"provisioning", "ready", "running", "paused", "stopped", "error", "destroyed"}) {
    EXPECT_STREQ(name_of(find_session_status(name).value()), name);
  }
  EXPECT_FALSE(find_session_status("asleep"));
}

TEST_F(SessionTableTest, NamesAreUniqueAmongTheLiving) {
  const Session first = created("n");
  EXPECT_EQ(store_->sessions.create(session("n"), std::nullopt, 10).error().kind, Kind::kConflict);
  const std::string other = store_->principals.ensure("other").value();
  EXPECT_TRUE(store_->sessions.create(session("n", other), std::nullopt, 10).ok());
  ASSERT_TRUE(store_->sessions.set_status(first.id, SessionStatus::kDestroyed, "").value());
  EXPECT_TRUE(store_->sessions.create(session("n"), std::nullopt, 10).ok());
}

TEST_F(SessionTableTest, HostIdsAreTheLowestFree) {
  const auto a = created();
  const auto b = created();
  const auto c = created();
  EXPECT_EQ(a.host_uid, 1'900'000'000);
  EXPECT_EQ(b.host_uid, 1'900'000'001);
  EXPECT_EQ(c.host_uid, 1'900'000'002);
  ASSERT_TRUE(store_->sessions.set_status(b.id, SessionStatus::kDestroyed, "").value());
  EXPECT_EQ(created().host_uid, 1'900'000'003) << "something of b may still run";
  ASSERT_EQ(store_->session_lists.unburied().value().size(), 1U);
  ASSERT_TRUE(store_->past.set_buried(b.id).ok());
  EXPECT_TRUE(store_->session_lists.unburied().value().empty());
  EXPECT_EQ(created().host_uid, 1'900'000'001);
  EXPECT_EQ(store_->sessions.create(session(), HostUidRange{1'900'000'000, 4}, 100).error().kind,
            Kind::kLimit);
}

TEST_F(SessionTableTest, HostIdsAreUniqueWhenServersRace) {
  constexpr int kThreads = 4;
  constexpr int kEach = 10;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([this] {
        const auto other = Store::open(path()).value();
        for (int n = 0; n < kEach; ++n) {
          EXPECT_TRUE(other->sessions.create(session(), kIds, 1000).ok());
        }
      });
    }
  }
  std::set<std::int64_t> ids;
  for (const Session& s : store_->session_lists.newest(principal_, false, 1000).value())
    ids.insert(*s.host_uid);
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kThreads * kEach));
}

TEST_F(SessionTableTest, TheNumberOfSessionsIsBounded) {
  const std::string remedy =
      " already, the most allowed: delete_session one that is not needed; max_sessions in "
      "[session] of the configuration allows more";
  created();
  const auto second = store_->sessions.create(session(), std::nullopt, 1);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, Kind::kLimit);
  EXPECT_EQ(second.error().message, "there is 1 session" + remedy);
  created();
  EXPECT_EQ(store_->sessions.create(session(), std::nullopt, 2).error().message,
            "there are 2 sessions" + remedy);
}

TEST_F(SessionTableTest, ThoseWithABoxCountAndNobodyElses) {
  using enum SessionStatus;
  created_by("other");
  for (const SessionStatus status : {kStopped, kError, kDestroyed}) created_in(status);
  EXPECT_TRUE(store_->sessions.create(session(), std::nullopt, 1).ok());
  std::int64_t boxes = 1;
  for (const SessionStatus status : {kReady, kPaused, kRunning}) {
    created_in(status);
    EXPECT_EQ(store_->sessions.create(session(), std::nullopt, ++boxes).error().kind, Kind::kLimit)
        << name_of(status);
  }
}

TEST_F(SessionTableTest, SessionsThatAreKeptAreBoundedToo) {
  const Session destroyed = created_in(SessionStatus::kStopped);
  created_in(SessionStatus::kStopped);
  const auto refused = store_->sessions.create(session(), std::nullopt, {10, 2});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Kind::kLimit);
  EXPECT_EQ(refused.error().message,
            "there are 2 sessions kept already, the most allowed: delete_session some that are not "
            "needed; kept_sessions_max in [session] of the configuration allows more");
  destroy(destroyed);
  EXPECT_TRUE(store_->sessions.create(session(), std::nullopt, {10, 2}).ok());
}

TEST_F(SessionTableTest, ARefusedSessionLeavesNothing) {
  created("taken");
  const Session nobodys = session("", "nobody");
  const Session second = session("taken");
  const Session third = session();
  EXPECT_FALSE(store_->sessions.create(nobodys, kIds, 10).ok());
  EXPECT_EQ(store_->sessions.create(second, kIds, 10).error().message,
            "there is a session named \"taken\" already: use its name as session_id, or choose "
            "another name");
  EXPECT_FALSE(store_->sessions.create(third, kIds, 1).ok());
  for (const Session& refused : {nobodys, second, third}) {
    EXPECT_FALSE(store_->sessions.is_on_record(refused.id).value());
    EXPECT_EQ(audited(refused.id), 0U);
  }
  EXPECT_EQ(created().host_uid, kIds.first + 1);
}

TEST_F(SessionTableTest, ASessionThatDidNotGetItsBoxIsAsItWas) {
  for (const auto status : {SessionStatus::kError, SessionStatus::kStopped}) {
    const Session made = created();
    ASSERT_TRUE(store_->sessions.set_status(made.id, status, "why").value());
    const Session before = store_->sessions.find(principal_, made.id).value();
    EXPECT_TRUE(store_->sessions.claim_box(before, 1000, 1).value());
    EXPECT_FALSE(store_->sessions.claim_box(before, 1000, 1).value()) << "it is claimed";
    ASSERT_TRUE(store_->sessions.unclaim_box(before).ok());
    const Session after = store_->sessions.find(principal_, made.id).value();
    EXPECT_EQ(after.status, status);
    EXPECT_EQ(after.error, before.error);
  }
}

TEST_F(SessionTableTest, AClaimIsAUse) {
  const Session stopped = created_in(SessionStatus::kStopped);
  EXPECT_TRUE(store_->sessions.claim_box(stopped, 1000, stopped.last_used_at + 5).value());
  EXPECT_EQ(row_of(stopped).status, SessionStatus::kProvisioning);
  EXPECT_EQ(row_of(stopped).last_used_at, stopped.last_used_at + 5);
  const Session other = created_in(SessionStatus::kStopped);
  EXPECT_TRUE(store_->sessions.claim_box(other, 1000, 1).value());
  EXPECT_EQ(row_of(other).last_used_at, other.last_used_at) << "a clock that was put back";
}

TEST_F(SessionTableTest, BoxesAreClaimedWithinTheBoundOfTheirPrincipal) {
  created_by("other");
  const Session ready = created_in(SessionStatus::kReady);
  const Session stopped = created_in(SessionStatus::kStopped);
  EXPECT_EQ(store_->sessions.claim_box(stopped, 1, 1).error().kind, Kind::kLimit);
  EXPECT_EQ(row_of(stopped).status, SessionStatus::kStopped);
  EXPECT_FALSE(store_->sessions.claim_box(ready, 1, 1).value()) << "it has one already";
  EXPECT_TRUE(store_->sessions.claim_box(stopped, 2, 1).value());
  EXPECT_FALSE(store_->sessions.claim_box(session(), 1000, 1).value()) << "nobody knows it";
}

TEST_F(SessionTableTest, AClaimMakesNothingOfADestroyedSession) {
  const Session destroyed = created_in(SessionStatus::kDestroyed);
  EXPECT_FALSE(store_->sessions.claim_box(destroyed, 1000, destroyed.last_used_at + 5).value());
  EXPECT_EQ(row_of(destroyed).status, SessionStatus::kDestroyed);
  EXPECT_EQ(row_of(destroyed).last_used_at, destroyed.last_used_at);
}

TEST_F(SessionTableTest, AClaimIsGivenUpOnlyWhereThereIsNoBox) {
  using enum SessionStatus;
  for (const SessionStatus status : {kReady, kPaused, kDestroyed}) {
    const Session before = created_in(kStopped);
    ASSERT_TRUE(store_->sessions.set_status(before.id, status, "").value());
    ASSERT_TRUE(store_->sessions.unclaim_box(before).ok());
    EXPECT_EQ(row_of(before).status, status);
  }
}

TEST_F(SessionTableTest, ForeignAndUnknownSessionsLookTheSame) {
  const Session mine = created("mine");
  const std::string other = store_->principals.ensure("other").value();
  const auto foreign = store_->sessions.find(other, mine.id);
  const auto unknown = store_->sessions.find(other, base::random_id("session_"));
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().message, unknown.error().message);
  EXPECT_EQ(foreign.error().kind, Kind::kNotFound);
  EXPECT_FALSE(store_->sessions.find(other, "mine").ok());
  EXPECT_TRUE(store_->session_lists.newest(other, false, 1).value().empty());
}

TEST_F(SessionTableTest, ADestroyedSessionIsFoundByItsIdAlone) {
  const Session first = created("n");
  destroy(first);
  EXPECT_EQ(store_->sessions.find(principal_, "n").error().kind, Kind::kNotFound);
  EXPECT_EQ(store_->sessions.find(principal_, first.id).value().id, first.id);
  const Session second = created("n");
  EXPECT_EQ(store_->sessions.find(principal_, "n").value().id, second.id);
}

TEST_F(SessionTableTest, OneOfAnyPrincipalIsFoundByItsIdUntilItIsDestroyed) {
  const Session mine = created("mine");
  const Session theirs = created_by("other");
  EXPECT_EQ(store_->sessions.find_of_any(mine.id).value().name, "mine");
  EXPECT_EQ(store_->sessions.find_of_any(theirs.id).value().principal_id, theirs.principal_id);
  EXPECT_EQ(store_->sessions.find_of_any("mine").error().kind, Kind::kNotFound);
  destroy(theirs);
  EXPECT_EQ(store_->sessions.find_of_any(theirs.id).error().kind, Kind::kNotFound);
}

TEST_F(SessionTableTest, ADestroyedSessionIsOnRecordAndDoesNotLive) {
  const Session one = created("one");
  EXPECT_TRUE(store_->sessions.is_live(one.id).value());
  EXPECT_TRUE(store_->sessions.is_on_record(one.id).value());
  destroy(one);
  EXPECT_FALSE(store_->sessions.is_live(one.id).value());
  EXPECT_TRUE(store_->sessions.is_on_record(one.id).value());
  for (const char* unknown : {"one", "", "session_0"}) {
    EXPECT_FALSE(store_->sessions.is_live(unknown).value()) << unknown;
    EXPECT_FALSE(store_->sessions.is_on_record(unknown).value()) << unknown;
  }
}

TEST_F(SessionTableTest, ARunLeavesTracesUntilItsEndIsRead) {
  const Session one = created();
  EXPECT_FALSE(store_->sessions.has_traces(one.id, base::now_ms()).value());
  const sessions::Run run = inserted(one);
  EXPECT_TRUE(store_->sessions.has_traces(one.id, base::now_ms()).value()) << "it has not ended";
  ASSERT_TRUE(store_->runs.finish(run.id, testing::end_at(1), {}).value());
  EXPECT_TRUE(store_->sessions.has_traces(one.id, base::now_ms()).value())
      << "nobody has read its end";
  ASSERT_TRUE(store_->runs.set_read(run.id).ok());
  EXPECT_TRUE(store_->sessions.has_traces(one.id, base::now_ms()).value())
      << "who came back for it reads on";
  EXPECT_FALSE(store_->sessions.has_traces(one.id, base::now_ms() + 2 * 3'600'000).value());
  const sessions::Run told = inserted(one);
  ASSERT_TRUE(store_->runs.finish(told.id, testing::end_at(1), {}, EndRead::kAsItEnds).value());
  EXPECT_FALSE(store_->sessions.has_traces(one.id, base::now_ms() + 2 * 3'600'000).value());
}

TEST_F(SessionTableTest, WhatIsSharedOrGrantedIsATraceOfItsSessionAlone) {
  const Session one = created();
  const Session other = created();
  Share share;
  share.id = "share";
  share.session_id = one.id;
  share.principal_id = principal_;
  ASSERT_TRUE(store_->shares.insert(share).ok());
  EXPECT_TRUE(store_->sessions.has_traces(one.id, base::now_ms()).value());
  EXPECT_FALSE(store_->sessions.has_traces(other.id, base::now_ms()).value());
  ASSERT_TRUE(store_->shares.remove(share).ok());
  EXPECT_FALSE(store_->sessions.has_traces(one.id, base::now_ms()).value());
  ASSERT_TRUE(store_->network.set_grant(one.id, "a.test", true, 1).ok());
  EXPECT_TRUE(store_->sessions.has_traces(one.id, base::now_ms()).value());
  EXPECT_FALSE(store_->sessions.has_traces(other.id, base::now_ms()).value());
  ASSERT_TRUE(store_->network.set_grant(one.id, "a.test", false, 1).ok());
  EXPECT_FALSE(store_->sessions.has_traces(one.id, base::now_ms()).value());
}

TEST_F(SessionTableTest, DestroyedIsForEver) {
  const Session made = created();
  EXPECT_TRUE(store_->sessions.set_status(made.id, SessionStatus::kDestroyed, "").value());
  EXPECT_FALSE(store_->sessions.set_status(made.id, SessionStatus::kReady, "").value());
  const Session found = store_->sessions.find(principal_, made.id).value();
  EXPECT_EQ(found.status, SessionStatus::kDestroyed);
  EXPECT_TRUE(found.ended_at);
  EXPECT_TRUE(store_->session_lists.live().value().empty());
  EXPECT_FALSE(store_->sessions.is_live(made.id).value());
}

TEST_F(SessionTableTest, ADamagedRowIsNamedAndKeepsNobodyElseFromTheirs) {
  const Session made = created();
  const Session other = created();
  auto database = Database::open(path()).value();
  const auto change = [&](const std::string& what) {
    const std::string sql = "UPDATE sessions SET " + what + " WHERE id = ?";
    return database->prepare(sql.c_str()).value().bind(made.id).run().ok();
  };
  for (const char* damage :
       {"limits = 'x'", R"(limits = '{"cpus":"1"}')", "env = '[]'", R"(metadata = '{"a":1}')",
        R"(network = '{"allow":[1]}')", "host_folders = '{}'", "paths = '1'"}) {
    ASSERT_TRUE(change(damage));
    const Session found = store_->sessions.find(principal_, made.id).value();
    ASSERT_TRUE(found.unreadable) << damage;
    EXPECT_TRUE(found.unreadable->starts_with("sessions.")) << *found.unreadable;
    EXPECT_FALSE(store_->sessions.find(principal_, other.id).value().unreadable) << damage;
    EXPECT_EQ(store_->session_lists.live().value().size(), 2U);
    ASSERT_TRUE(
        change("limits = '{}', env = '{}', metadata = '{}', network = NULL, "
               "host_folders = NULL, paths = NULL"));
    EXPECT_FALSE(store_->sessions.find(principal_, made.id).value().unreadable) << damage;
  }
}

TEST_F(SessionTableTest, EveryChangeOfStatusHasItsAuditRow) {
  const Session made = created();
  using enum SessionStatus;
  for (const SessionStatus status : {kReady, kPaused, kReady, kDestroyed}) {
    ASSERT_TRUE(store_->sessions.set_status(made.id, status, "").value());
  }
  EXPECT_FALSE(store_->sessions.set_status(made.id, SessionStatus::kDestroyed, "").value());
  std::vector<std::string> actions;
  for (const AuditEntry& entry : store_->audit.of_session(made.id, 100).value()) {
    actions.push_back(entry.action);
  }
  EXPECT_EQ(actions, (std::vector<std::string>{"create_session", "session_ready", "session_paused",
                                               "session_ready", "session_destroyed"}));
}

TEST_F(SessionTableTest, AStatusThatItHasOrThatIsNobodysIsNotApplied) {
  const Session made = created();
  const std::size_t before = audited(made.id);
  EXPECT_FALSE(store_->sessions.set_status(made.id, made.status, "why").value());
  EXPECT_EQ(audited(made.id), before);
  EXPECT_FALSE(store_->sessions.set_status("nobody", SessionStatus::kReady, "why").value());
  EXPECT_EQ(audited("nobody"), 0U);
}

TEST_F(SessionTableTest, AnErrorIsSaidWhileItIsOne) {
  const Session made = created();
  const Session other = created();
  ASSERT_TRUE(store_->sessions.set_status(made.id, SessionStatus::kError, "no room").value());
  EXPECT_EQ(row_of(made).error, "no room");
  EXPECT_FALSE(row_of(made).ended_at);
  ASSERT_TRUE(store_->sessions.set_status(made.id, SessionStatus::kReady, "again").value());
  EXPECT_FALSE(row_of(made).error);
  ASSERT_TRUE(store_->sessions.set_status(made.id, SessionStatus::kDestroyed, "asked").value());
  EXPECT_FALSE(row_of(made).error);
  EXPECT_EQ(row_of(other).status, SessionStatus::kProvisioning);
  EXPECT_FALSE(row_of(other).ended_at);
}

TEST_F(SessionTableTest, TheOperatorHearsOfADeletionOnce) {
  const Session named = created("n");
  const Session unnamed = created();
  listen();
  ASSERT_TRUE(store_->sessions.set_status(named.id, SessionStatus::kStopped, "why").value());
  EXPECT_TRUE(heard_.empty());
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(store_->sessions.set_status(named.id, SessionStatus::kDestroyed, "asked").ok());
  }
  destroy(unnamed);
  ASSERT_EQ(heard_.size(), 2U);
  EXPECT_EQ(heard_[0].message, "session \"n\" deleted: asked");
  EXPECT_EQ(heard_[0].principal_id, principal_);
  EXPECT_EQ(heard_[0].session_id, named.id);
  EXPECT_EQ(heard_[1].message, "session deleted");
}

TEST_F(SessionTableTest, WhatItsBoxHasToldIsItsAlone) {
  const Session one = created();
  const Session other = created();
  ASSERT_TRUE(store_->sessions.set_isolation(one.id, {.memory = "watched"}).ok());
  ASSERT_TRUE(store_->sessions.set_isolation(one.id, {.memory = "cgroup v2"}).ok());
  EXPECT_EQ(row_of(one).isolation, sandbox::Isolation{.memory = "cgroup v2"});
  EXPECT_FALSE(row_of(other).isolation);
}

TEST_F(SessionTableTest, ALifetimeAndANetworkAreChangedUntilItIsDestroyed) {
  const NetworkChoice choice{{"a.test"}, {"key"}, {}};
  const Session one = created();
  const Session other = created();
  ASSERT_TRUE(store_->sessions.set_lifetime(one.id, 70).ok());
  ASSERT_TRUE(store_->sessions.set_network(one.id, choice).ok());
  EXPECT_EQ(row_of(one).lifetime_seconds, 70);
  EXPECT_EQ(row_of(one).network, choice);
  EXPECT_FALSE(row_of(other).lifetime_seconds || row_of(other).network);
  ASSERT_TRUE(store_->sessions.set_network(one.id, std::nullopt).ok());
  EXPECT_FALSE(row_of(one).network) << "it has what is granted unasked";
  destroy(one);
  ASSERT_TRUE(store_->sessions.set_lifetime(one.id, 80).ok());
  ASSERT_TRUE(store_->sessions.set_network(one.id, choice).ok());
  EXPECT_EQ(row_of(one).lifetime_seconds, 70);
  EXPECT_FALSE(row_of(one).network);
}

TEST_F(SessionTableTest, AUseIsNeverPutBack) {
  const Session one = created();
  const Session other = created();
  const std::int64_t at = one.last_used_at;
  ASSERT_TRUE(store_->sessions.touch(one.id, at + 7).ok());
  EXPECT_EQ(row_of(one).last_used_at, at + 7);
  ASSERT_TRUE(store_->sessions.touch(one.id, at + 6).ok());
  EXPECT_EQ(row_of(one).last_used_at, at + 7);
  EXPECT_EQ(row_of(other).last_used_at, other.last_used_at);
  EXPECT_TRUE(store_->sessions.touch("nobody", at).ok());
}

TEST_F(SessionTableTest, AConnectionEndsForThoseThatAreNamed) {
  const auto connected = [](Session& wanted) { wanted.connection_server = "server"; };
  const Session one = created_as(connected);
  const Session two = created_as(connected);
  const Session other = created_as(connected);
  ASSERT_TRUE(store_->sessions.end_connection_of({}).ok());
  EXPECT_EQ(row_of(one).connection_server, "server");
  ASSERT_TRUE(store_->sessions.end_connection_of({one.id, "nobody", two.id}).ok());
  EXPECT_FALSE(row_of(one).connection_server || row_of(two).connection_server);
  EXPECT_EQ(row_of(other).connection_server, "server");
}

TEST_F(SessionTableTest, HostIdsOfAnotherDirectoryAreRenewedOnce) {
  std::vector<Session> all;
  for (int i = 0; i < 20; ++i) all.push_back(created());
  // As of a directory that an ordinary user has made.
  all.push_back(store_->sessions.create(session(), std::nullopt, 1000).value());
  EXPECT_EQ(renew(kIds), 1U) << "those of the range stay";
  EXPECT_EQ(renew(), 21U);
  std::set<std::int64_t> ids;
  for (const Session& one : all) ids.insert(uid_of(one));
  EXPECT_EQ(ids.size(), all.size());
  EXPECT_TRUE(kOwn.has(*ids.begin()) && kOwn.has(*ids.rbegin()));
  EXPECT_EQ(renew(), 0U);
  const Session made = store_->sessions.create(session(), kOwn, 1000).value();
  EXPECT_FALSE(ids.contains(*made.host_uid));
}

TEST_F(SessionTableTest, AHostIdIsRenewedJustOutsideTheRangeAndNotWithin) {
  const Session one = created();
  const std::int64_t uid = one.host_uid.value();
  EXPECT_EQ(renew({uid, 1}), 0U);
  EXPECT_EQ(renew({uid - 1, 2}), 0U);
  EXPECT_EQ(renew({uid - 1, 1}), 1U);
  EXPECT_EQ(uid_of(one), uid - 1);
  EXPECT_EQ(renew({uid, 1}), 1U);
  EXPECT_EQ(uid_of(one), uid);
}

TEST_F(SessionTableTest, HostIdsAreRenewedByTheAgeOfTheirSessions) {
  const auto made = [this](const std::string& id, std::int64_t created_at) {
    return created_as([&](Session& wanted) {
      wanted.id = id;
      wanted.created_at = created_at;
    });
  };
  const Session third = made("a", 2);
  const Session second = made("c", 1);
  const Session first = made("b", 1);
  EXPECT_EQ(renew(), 3U);
  EXPECT_EQ(uid_of(first), kOwn.first);
  EXPECT_EQ(uid_of(second), kOwn.first + 1);
  EXPECT_EQ(uid_of(third), kOwn.first + 2);
}

TEST_F(SessionTableTest, TheHostIdOfOneWhoseBoxLivesStays) {
  const Session lives = created();
  const Session other = created();
  const auto renewed =
      store_->sessions.renew_host_uids(kOwn, [&](const std::string& id) { return id != lives.id; });
  EXPECT_EQ(renewed.value(), 1U);
  EXPECT_EQ(uid_of(lives), lives.host_uid);
  EXPECT_TRUE(kOwn.has(uid_of(other)));
}

TEST_F(SessionTableTest, ARenewedHostIdIsNoneThatAnotherSessionHolds) {
  const Session kept = store_->sessions.create(session(), kOwn, 1000).value();
  const Session copied = created();
  EXPECT_EQ(renew(), 1U);
  EXPECT_EQ(uid_of(kept), kOwn.first);
  EXPECT_EQ(uid_of(copied), kOwn.first + 1);
}

TEST_F(SessionTableTest, HostIdsOfDeletedSessionsAreLeft) {
  const Session deleted = created();
  ASSERT_TRUE(store_->sessions.set_status(deleted.id, SessionStatus::kDestroyed, "").ok());
  EXPECT_EQ(renew(), 0U);
}

TEST_F(SessionTableTest, ARangeThatIsTooSmallChangesNothing) {
  const Session a = created();
  const Session b = created();
  EXPECT_FALSE(
      store_->sessions.renew_host_uids({kOwn.first, 1}, [](const std::string&) { return true; })
          .ok());
  EXPECT_EQ(uid_of(a), a.host_uid);
  EXPECT_EQ(uid_of(b), b.host_uid);
}

}  // namespace
}  // namespace sessions
