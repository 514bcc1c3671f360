// Locks by name keep out all who use the same name, and nobody else.
#include "sessions/named_locks.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

namespace sessions {
namespace {

// As somebody else who asks for that name finds it.
bool is_free_for_another(NamedLocks& locks, const std::string& name) {
  return std::async(std::launch::async,
                    [&locks, &name] {
                      const auto lock = locks.of(name);
                      const bool got = lock->try_lock();
                      if (got) lock->unlock();
                      return got;
                    })
      .get();
}

TEST(NamedLocksTest, ANameThatSomebodyHasLockedIsLockedForAllOthers) {
  NamedLocks locks;
  const auto held = locks.of("session_a");
  {
    const std::lock_guard lock(*held);
    EXPECT_FALSE(is_free_for_another(locks, "session_a"));
  }
  EXPECT_TRUE(is_free_for_another(locks, "session_a"));
}

TEST(NamedLocksTest, AnotherNameIsNobodysWait) {
  NamedLocks locks;
  const auto held = locks.of("session_a");
  const std::lock_guard lock(*held);
  for (const char* other : {"session_b", "files of session_a", "session_", ""}) {
    EXPECT_TRUE(is_free_for_another(locks, other)) << other;
  }
}

TEST(NamedLocksTest, OneThatIsHeldOutlastsAllThatAreForgotten) {
  NamedLocks locks;
  const auto held = locks.of("session_a");
  const std::lock_guard lock(*held);
  for (int i = 0; i < 100; ++i) (void)locks.of("session_" + std::to_string(i));
  EXPECT_EQ(locks.of("session_a"), held);
  EXPECT_FALSE(is_free_for_another(locks, "session_a"));
}

TEST(NamedLocksTest, OneThatNobodyHoldsIsForgottenWithTheNextNewName) {
  NamedLocks locks;
  std::weak_ptr<std::mutex> gone;
  {
    const auto held = locks.of("session_a");
    gone = held;
    EXPECT_EQ(locks.of("session_a"), held);
  }
  const auto other = locks.of("session_b");
  EXPECT_TRUE(gone.expired());
  const auto again = locks.of("session_a");
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(locks.of("session_a"), again);
}

TEST(NamedLocksTest, OfManyWhoAskAndLetGoOneIsAtWorkAtATime) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  NamedLocks locks;
  std::vector<int> done(2);  // nothing else guards them
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&locks, &done] {
        for (int round = 0; round < kRounds; ++round) {
          for (const std::size_t i : {0U, 1U}) {
            const auto lock = locks.of("session_" + std::to_string(i));
            const std::lock_guard one_at_a_time(*lock);
            ++done[i];
          }
        }
      });
    }
  }
  EXPECT_EQ(done, std::vector<int>(2, kThreads * kRounds));
}

}  // namespace
}  // namespace sessions
