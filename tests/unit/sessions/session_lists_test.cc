// Lists of sessions: whose they have, in which order, and how many at once.
#include "sessions/session_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "sessions/past_table.h"
#include "sessions/spare_table.h"
#include "sessions/store.h"
#include "sessions/store_file.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

class SessionListsTest : public testing::StoreFixture {
 protected:
  using Ids = std::vector<std::string>;

  // Creates one with this id, which was used last and made at these times.
  Session used(const std::string& id, std::int64_t last_used_at, std::int64_t created_at = 0,
               SessionStatus status = SessionStatus::kReady) {
    return created_as([&](Session& wanted) {
      wanted.id = id;
      wanted.last_used_at = last_used_at;
      wanted.created_at = created_at;
      wanted.status = status;
    });
  }
  Ids newest(std::int64_t limit, bool destroyed = false) {
    return ids_in(store_->session_lists.newest(principal_, destroyed, limit).value());
  }
  Ids oldest(std::int64_t limit) {
    return ids_in(store_->session_lists.oldest(principal_, limit).value());
  }
  Ids unnamed(const SessionPlace& after, std::int64_t limit) {
    return ids_in(store_->session_lists.unnamed(principal_, after, limit).value());
  }
};

TEST_F(SessionListsTest, TheNewestAreThoseThatWereUsedLastAndThenMadeLast) {
  for (const bool destroyed : {false, true}) {
    const auto status = destroyed ? SessionStatus::kDestroyed : SessionStatus::kReady;
    const std::string name = name_of(status);
    used(name + "_c", 5, 1, status);
    used(name + "_a", 7, 1, status);
    used(name + "_d", 5, 2, status);
    used(name + "_b", 5, 1, status);
    EXPECT_EQ(newest(10, destroyed), (Ids{name + "_a", name + "_d", name + "_b", name + "_c"}));
    EXPECT_EQ(newest(3, destroyed), (Ids{name + "_a", name + "_d", name + "_b"}));
    EXPECT_TRUE(newest(0, destroyed).empty());
  }
}

TEST_F(SessionListsTest, DestroyedOnesAreAListOfTheirOwnAndAnothersAreInNone) {
  EXPECT_TRUE(newest(10).empty());
  used("lives", 5);
  used("stopped", 4, 0, SessionStatus::kStopped);
  used("old", 1, 0, SessionStatus::kDestroyed);
  used("older", 0, 0, SessionStatus::kDestroyed);
  const Session foreign = created_by("other");
  EXPECT_EQ(newest(10), (Ids{"lives", "stopped"}));
  EXPECT_EQ(newest(10, true), (Ids{"old", "older"}));
  EXPECT_EQ(newest(1, true), (Ids{"old"}));
  destroy(foreign);
  EXPECT_EQ(newest(10, true), (Ids{"old", "older"}));
}

TEST_F(SessionListsTest, TheNewestOfAllAreThoseOfEverybodyWhoExists) {
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  used("old", 1);
  used("new", 3);
  used("destroyed", 4, 0, SessionStatus::kDestroyed);
  created_as([](Session& wanted) {
    wanted.id = "spare";
    wanted.principal_id = kSparePrincipal;
  });
  const Session theirs = created_by("other");
  EXPECT_EQ(store_->session_lists.newest_used(10).value(), (Ids{theirs.id, "new", "old"}));
  EXPECT_EQ(store_->session_lists.newest_used(2).value(), (Ids{theirs.id, "new"}));
}

TEST_F(SessionListsTest, TheOldestAreThoseThatWereUsedLongestAgo) {
  EXPECT_TRUE(oldest(10).empty());
  used("b", 6);
  used("a", 7);
  used("stopped", 5, 0, SessionStatus::kStopped);
  used("destroyed", 1, 0, SessionStatus::kDestroyed);
  created_by("other");
  EXPECT_EQ(oldest(10), (Ids{"stopped", "b", "a"}));
  EXPECT_EQ(oldest(2), (Ids{"stopped", "b"}));
}

TEST_F(SessionListsTest, UnaskedOnesAreThoseThatMayHaveABox) {
  using enum SessionStatus;
  const auto unasked = [this](const std::string& id, std::int64_t last_used_at,
                              std::int64_t created_at, SessionStatus status) {
    created_as([&](Session& wanted) {
      wanted.id = id;
      wanted.unasked = true;
      wanted.last_used_at = last_used_at;
      wanted.created_at = created_at;
      wanted.status = status;
    });
  };
  EXPECT_TRUE(store_->session_lists.unasked(principal_).value().empty());
  unasked("d", 9, 1, kReady);
  unasked("c", 2, 5, kPaused);
  unasked("b", 2, 4, kError);
  unasked("a", 2, 4, kProvisioning);
  unasked("stopped", 1, 1, kStopped);
  unasked("destroyed", 1, 1, kDestroyed);
  used("asked", 1);
  EXPECT_EQ(ids_in(store_->session_lists.unasked(principal_).value()), (Ids{"a", "b", "c", "d"}));
  const std::string other = store_->principals.ensure("other").value();
  EXPECT_TRUE(store_->session_lists.unasked(other).value().empty());
}

TEST_F(SessionListsTest, SessionsThatWereUsedInOneMillisecondAreAllLookedAt) {
  for (int i = 0; i < 5; ++i) {
    created_as([](Session& wanted) { wanted.last_used_at = 7; });
  }
  std::set<std::string> seen;
  SessionPlace after;
  while (true) {
    const auto some = store_->session_lists.unnamed(principal_, after, 2).value();
    if (some.empty()) break;
    for (const Session& session : some) EXPECT_TRUE(seen.insert(session.id).second);
    after = {some.back().last_used_at, some.back().id};
  }
  EXPECT_EQ(seen.size(), 5U);
}

TEST_F(SessionListsTest, OneThatAClientWouldFindIsNoneOfTheUnnamed) {
  created("named");
  created_as([](Session& wanted) { wanted.metadata = {{"team", "red"}}; });
  used("destroyed", 1, 0, SessionStatus::kDestroyed);
  created_by("other");
  EXPECT_TRUE(unnamed({}, 10).empty());
  used("b", 2);
  used("a", 3, 0, SessionStatus::kStopped);
  used("first", 0);
  EXPECT_EQ(unnamed({}, 10), (Ids{"first", "b", "a"}));
  EXPECT_EQ(unnamed({}, 2), (Ids{"first", "b"}));
  EXPECT_EQ(unnamed({2, "b"}, 10), (Ids{"a"}));
  EXPECT_EQ(unnamed({2, "a"}, 10), (Ids{"b", "a"}));
}

TEST_F(SessionListsTest, PlacesAreOfAllThatLive) {
  used("c", 5);
  used("b", 5, 0, SessionStatus::kStopped);
  used("a", 7);
  used("d", 1, 0, SessionStatus::kDestroyed);
  created_by("other");
  SessionLists& lists = store_->session_lists;
  EXPECT_EQ(ids_in(lists.places(principal_, {}, 10).value()), (Ids{"b", "c", "a"}));
  EXPECT_EQ(ids_in(lists.places(principal_, {}, 2).value()), (Ids{"b", "c"}));
  EXPECT_EQ(ids_in(lists.places(principal_, {5, "b"}, 2).value()), (Ids{"c", "a"}));
  EXPECT_EQ(lists.places(principal_, {5, "b"}, 1).value().back().last_used_at, 5);
}

TEST_F(SessionListsTest, ThoseWithABoxEndWithTheOneThatWasUsedLast) {
  using enum SessionStatus;
  EXPECT_TRUE(store_->session_lists.with_box(principal_).value().empty());
  used("e", 4, 1, kReady);
  used("d", 3, 2, kProvisioning);
  used("b", 3, 1, kPaused);
  used("c", 3, 1, kRunning);
  for (const SessionStatus status : {kStopped, kError, kDestroyed}) {
    used(name_of(status), 1, 1, status);
  }
  const Session foreign = created_by("other");
  EXPECT_EQ(ids_in(store_->session_lists.with_box(principal_).value()), (Ids{"b", "c", "d", "e"}));
  EXPECT_EQ(ids_in(store_->session_lists.with_box(foreign.principal_id).value()), Ids{foreign.id});
}

TEST_F(SessionListsTest, AllThatAreNotDestroyedAreKept) {
  EXPECT_EQ(store_->session_lists.count_kept(principal_).value(), 0);
  const Session one = created();
  used("stopped", 1, 0, SessionStatus::kStopped);
  created_by("other");
  EXPECT_EQ(store_->session_lists.count_kept(principal_).value(), 2);
  destroy(one);
  EXPECT_EQ(store_->session_lists.count_kept(principal_).value(), 1);
  EXPECT_EQ(store_->session_lists.count_kept("nobody").value(), 0);
}

TEST_F(SessionListsTest, TheLivingAndTheUnburiedOfAllComeByTheirAge) {
  const Session buried = created();
  destroy(buried);
  ASSERT_TRUE(store_->past.set_buried(buried.id).ok());
  for (const auto status : {SessionStatus::kStopped, SessionStatus::kDestroyed}) {
    const std::string name = name_of(status);
    used(name + "_c", 1, 9, status);
    used(name + "_b", 2, 8, status);
    used(name + "_a", 3, 8, status);
  }
  const Session foreign = created_by("other");
  EXPECT_EQ(ids_in(store_->session_lists.live().value()),
            (Ids{"stopped_a", "stopped_b", "stopped_c", foreign.id}));
  EXPECT_EQ(ids_in(store_->session_lists.unburied().value()),
            (Ids{"destroyed_a", "destroyed_b", "destroyed_c"}));
}

TEST_F(SessionListsTest, ALongListHasEachOnceThoughAllWereMadeAtOnce) {
  constexpr std::int64_t kMany = 2 * kRowsAtOnce;  // and the last turn finds nothing
  Ids made;
  for (std::int64_t i = 0; i < kMany; ++i) {
    made.push_back(created_as([](Session& wanted) { wanted.created_at = 7; }).id);
  }
  std::sort(made.begin(), made.end());
  EXPECT_EQ(ids_in(store_->session_lists.live().value()), made);
  execute("UPDATE sessions SET status = 'destroyed'");
  EXPECT_TRUE(store_->session_lists.live().value().empty());
  EXPECT_EQ(ids_in(store_->session_lists.unburied().value()), made);
}

}  // namespace
}  // namespace sessions
