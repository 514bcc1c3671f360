// A snapshot takes the place of the one before only once all of it is there.
#include "sandbox/box/kept_state.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/temporary_directory.h"

namespace {

using sandbox::box::EventLoop;
using sandbox::box::KeptState;

class KeptStateTest : public ::testing::Test {
 protected:
  KeptStateTest()
      : loop_(EventLoop::create().value()),
        session_(base::open_file(AT_FDCWD, directory_.path(), O_RDONLY | O_DIRECTORY).value()) {
    open();
  }

  void open(std::int64_t bytes_max = 1000) {
    kept_.reset();
    kept_ = KeptState::open(*loop_, session_.get(), bytes_max).value();
  }
  static void send(const KeptState::Ends& ends, const std::string& packet) {
    ASSERT_EQ(::send(ends.socket.get(), packet.data(), packet.size(), 0),
              static_cast<ssize_t>(packet.size()));
  }
  // Lets the loop take what was sent, which waits until rests are over.
  void settle(const KeptState::Ends& ends) {
    for (int unread = 1; unread > 0;) {
      ASSERT_TRUE(loop_->turn().ok());
      ASSERT_EQ(::ioctl(ends.socket.get(), SIOCOUTQ, &unread), 0);
    }
  }
  [[nodiscard]] std::string read(const char* name) const {
    std::ifstream file(directory_.path() + "/state/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string read(const base::UniqueFd& fd) {
    return fd.valid() ? base::read_all(fd.get(), 1000).value() : "none";
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<EventLoop> loop_;
  base::UniqueFd session_;
  std::unique_ptr<KeptState> kept_;
};

TEST_F(KeptStateTest, TheNextInterpreterHasWhatTheLastOneHasWrittenWhole) {
  KeptState::Ends first = kept_->give().value();
  EXPECT_FALSE(first.snapshot.valid());
  for (const char* packet : {"B", "Dab", "Dc", "E3"}) send(first, packet);
  settle(first);
  KeptState::Ends second = kept_->give().value();
  EXPECT_EQ(read(second.snapshot), "abc");
  for (const char* packet : {"W", "B", "Dnot whole"}) send(second, packet);
  settle(second);
  EXPECT_EQ(read(kept_->give().value().snapshot), "abc");
  EXPECT_EQ(read("python"), "abc");
}

TEST_F(KeptStateTest, AnotherBoxFindsIt) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  open();
  EXPECT_TRUE(kept_->has_snapshot());
  EXPECT_EQ(read(kept_->give().value().snapshot), "abc");
  struct stat status {};
  ASSERT_EQ(::stat((directory_.path() + "/state/python").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(KeptStateTest, WhatDoesNotFitOrIsCutLeavesTheOneBefore) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  const std::string large(2000, 'x');
  for (const std::string& packet : {std::string("B"), "D" + large, std::string("E2000")}) {
    send(ends, packet);
  }
  settle(ends);
  for (const char* packet : {"B", "Dabcd", "E5"}) send(ends, packet);
  settle(ends);
  EXPECT_EQ(read(kept_->give().value().snapshot), "abc");
}

TEST_F(KeptStateTest, ThatNothingIsThereTakesItsPlaceToo) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3", "N"}) send(ends, packet);
  settle(ends);
  EXPECT_FALSE(kept_->has_snapshot());
}

TEST_F(KeptStateTest, WhoBeginsAnewFindsNothing) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  kept_->forget();
  EXPECT_FALSE(kept_->give().value().snapshot.valid());
}

TEST_F(KeptStateTest, OneThatNobodyReadsToItsEndTwiceIsSetAside) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  EXPECT_TRUE(kept_->give().value().snapshot.valid());
  EXPECT_FALSE(kept_->take_set_aside());
  open();  // the box has ended, too
  EXPECT_TRUE(kept_->give().value().snapshot.valid());
  EXPECT_FALSE(kept_->give().value().snapshot.valid());
  EXPECT_TRUE(kept_->take_set_aside());
  EXPECT_FALSE(kept_->take_set_aside()) << "told once";
  EXPECT_EQ(read("python.bad"), "abc");
}

TEST_F(KeptStateTest, WhoSaysThatItHasReadItMayDieLater) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  for (int i = 0; i < 5; ++i) {
    ends = kept_->give().value();
    EXPECT_TRUE(ends.snapshot.valid());
    send(ends, "W");
    settle(ends);
  }
}

TEST_F(KeptStateTest, WhatWasWrittenWholeCountsThoughNobodyHasHeardIt) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"W", "B", "Dabc", "E3"}) send(ends, packet);
  EXPECT_EQ(read(kept_->give().value().snapshot), "abc");
}

TEST_F(KeptStateTest, TheWriterHearsHowMuchMayComeAndWhenTheNext) {
  KeptState::Ends ends = kept_->give().value();
  char said[32] = {};
  ASSERT_EQ(::recv(ends.socket.get(), said, sizeof said, 0), 4);
  EXPECT_EQ(std::string(said), "1000");
  send(ends, "N");
  settle(ends);
  const ssize_t size = ::recv(ends.socket.get(), said, sizeof said, MSG_DONTWAIT);
  ASSERT_GT(size, 0);
  EXPECT_GE(std::stoi(std::string(said, static_cast<std::size_t>(size))), 100);
}

// Each begins another snapshot, or is no part of one: hutch-box opens a file for each at most every
// tenth of a second.
TEST_F(KeptStateTest, WhoSendsWithoutEndIsHeardNowAndThen) {
  for (const char* packet : {"W", "N", "Dab", "B", "E2"}) {
    KeptState::Ends ends = kept_->give().value();
    int sent = 0;
    const auto flood = [&] {
      while (::send(ends.socket.get(), packet, std::strlen(packet), MSG_DONTWAIT) > 0) ++sent;
    };
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(350);
    flood();
    const int queued = sent;
    bool is_over = false;
    loop_->after(std::chrono::milliseconds(350), [&is_over] { is_over = true; });
    while (!is_over) {
      ASSERT_TRUE(loop_->turn().ok());
      flood();
    }
    EXPECT_LE(sent - queued, 10) << packet;
    EXPECT_GE(std::chrono::steady_clock::now(), until);
  }
}

TEST_F(KeptStateTest, APacketOfNoKindEndsTheConversation) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "?"}) send(ends, packet);
  settle(ends);
  EXPECT_EQ(::send(ends.socket.get(), "E3", 2, MSG_NOSIGNAL), -1);
  EXPECT_FALSE(kept_->has_snapshot());
}

}  // namespace
