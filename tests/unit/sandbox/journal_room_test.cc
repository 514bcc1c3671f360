// Room for the journal: who is asked for it, and when the door has to wait.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/random_id.h"
#include "base/unix_socket.h"
#include "sandbox/box/journal_room.h"
#include "sandbox/journal_calls.h"
#include "tests/support/temporary_directory.h"

namespace {

using sandbox::JournalCalls;
using sandbox::NetworkJournal;
using sandbox::box::EventLoop;
using sandbox::box::JournalRoom;

class JournalRoomTest : public ::testing::Test {
 protected:
  // Writes until it is that large, or `stop` says so.
  void fill(std::int64_t bytes) {
    while (journal_.bytes() < bytes && !is_held_) {
      journal_.add({{"event", "begun"}, {"id", ++id_}, {"path", std::string(1000, 'x')}});
      room_.look();
    }
  }
  void take_over() {
    sandbox::drop_network_journal(directory_.get(), sandbox::network_journal_end(directory_.get()));
  }

  TemporaryDirectory folder_;
  base::UniqueFd directory_ =
      base::open_file(AT_FDCWD, folder_.path(), O_RDONLY | O_DIRECTORY).value();
  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  NetworkJournal journal_{directory_.get()};
  int id_ = 0;
  int calls_ = 0;
  bool is_held_ = false;
  std::int64_t most_ = JournalRoom::kBytesMost;
  std::function<void()> called_ = [] {};
  std::function<void()> let_go_ = [] {};
  JournalRoom room_{*loop_,
                    journal_,
                    {.call =
                         [this] {
                           ++calls_;
                           called_();
                         },
                     .most = [this] { return most_; },
                     .hold_door =
                         [this](bool is_full) {
                           is_held_ = is_full;
                           if (!is_full) let_go_();
                         }}};
};

TEST_F(JournalRoomTest, IsAskedForHalfFullAndTheDoorWaitsWhenItIsFull) {
  fill(JournalRoom::kBytesMost / 2 - 10'000);
  EXPECT_EQ(calls_, 0);
  fill(JournalRoom::kBytesMost / 2);
  EXPECT_EQ(calls_, 1);
  EXPECT_FALSE(is_held_);
  fill(2 * JournalRoom::kBytesMost);
  EXPECT_TRUE(is_held_);
  EXPECT_LT(journal_.bytes(), JournalRoom::kBytesMost + 10'000);
  // A server hears it after a while.
  called_ = [this] { take_over(); };
  let_go_ = [this] { loop_->stop(); };
  ASSERT_TRUE(loop_->run().ok());
  EXPECT_FALSE(is_held_);
  EXPECT_LT(journal_.bytes(), JournalRoom::kBytesMost / 2);
}

TEST_F(JournalRoomTest, IsLargerWithoutAServer) {
  most_ = JournalRoom::kBytesMostAlone;
  fill(3 * JournalRoom::kBytesMost);
  EXPECT_FALSE(is_held_);
  most_ = JournalRoom::kBytesMost;  // one has come
  fill(4 * JournalRoom::kBytesMost);
  EXPECT_TRUE(is_held_);
}

TEST(JournalRoomMost, IsWhatTheDiskHasLeftWithoutAServer) {
  constexpr std::int64_t kLeast = JournalRoom::kBytesMost;
  constexpr std::int64_t kMost = JournalRoom::kBytesMostAlone;
  JournalRoom::Around around;
  around.disk_left_bytes = kMost;
  around.is_served = true;
  EXPECT_EQ(JournalRoom::bytes_most(around), kLeast);
  around.is_served = false;
  EXPECT_EQ(JournalRoom::bytes_most(around), kMost);
  around.disk_left_bytes = 3 << 20;
  EXPECT_EQ(JournalRoom::bytes_most(around), 3 << 20);
  around.journal_bytes = 1 << 20;
  EXPECT_EQ(JournalRoom::bytes_most(around), 4 << 20) << "what it has is among what is used";
  around.disk_left_bytes = -(3 << 20);
  EXPECT_EQ(JournalRoom::bytes_most(around), kLeast) << "more is used than may be";
  around.is_quota_used_up = false;
  EXPECT_EQ(JournalRoom::bytes_most(around), kMost) << "the quota does not count it";
  around.is_quota_used_up = true;
  EXPECT_EQ(JournalRoom::bytes_most(around), kLeast);
}

TEST(JournalCalls, ReachWhoLives) {
  const TemporaryDirectory folder;
  const std::string session = base::short_id("session_");
  sandbox::call_for_journal(folder.path(), session);  // nobody has ever been there
  std::atomic<int> heard = 0;
  {
    const auto server = JournalCalls::listen(folder.path(), "server_a", [&](const std::string& id) {
                          if (id == session) ++heard;
                        }).value();
    {
      const auto another = JournalCalls::listen(folder.path(), "server_b", [&](const std::string&) {
                             ++heard;
                           }).value();
      sandbox::call_for_journal(folder.path(), session);
      while (heard < 2) std::this_thread::yield();
    }
    const auto place =
        base::open_file(AT_FDCWD, folder.path() + "/journals", O_RDONLY | O_DIRECTORY).value();
    // The socket of one that was killed is left.
    (void)base::listen_at(place.get(), "server_c", SOCK_DGRAM).value();
    EXPECT_EQ(base::names_in(place.get()).size(), 2);
    sandbox::call_for_journal(folder.path(), "no session");
    sandbox::call_for_journal(folder.path(), session);
    while (heard < 3) std::this_thread::yield();
    EXPECT_EQ(base::names_in(place.get()).size(), 1);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() + "/journals"));
}

}  // namespace
