// A snapshot takes the place of the one before only once all of it is there.
#include "sandbox/box/kept_state.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/box/state_directory.h"
#include "sandbox/snapshot_index.h"
#include "tests/support/temporary_directory.h"

namespace {

using sandbox::box::EventLoop;
using sandbox::box::KeptState;
using Outcome = KeptState::Outcome;

class KeptStateTest : public ::testing::Test {
 protected:
  KeptStateTest()
      : loop_(EventLoop::create().value()),
        session_(base::open_file(AT_FDCWD, directory_.path(), O_RDONLY | O_DIRECTORY).value()) {
    (void)::signal(SIGPIPE, SIG_IGN);  // as hutch-box does
    open();
  }

  void open(std::int64_t bytes_max = 1000, std::int64_t bytes_in_all = 1500) {
    kept_.reset();
    state_.emplace(sandbox::box::StateDirectory::open(session_.get()).value());
    kept_ = KeptState::open(*loop_, *state_, "python", {bytes_max, bytes_in_all}, check_).value();
  }
  // A packet as the pipe has it: the first character of `packet` is its letter.
  static std::string framed(const std::string& packet) {
    const std::size_t size = packet.size() - 1;
    return packet.substr(0, 1) + static_cast<char>(size & 0xff) + static_cast<char>(size >> 8) +
           packet.substr(1);
  }
  static void send(const KeptState::Ends& ends, const std::string& packet) {
    const std::string bytes = framed(packet);
    ASSERT_EQ(::write(ends.takes.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  // Lets the loop take what was sent, which waits until rests are over.
  void settle(const KeptState::Ends& ends) {
    for (int unread = 1; unread > 0;) {
      ASSERT_TRUE(loop_->turn().ok());
      ASSERT_EQ(::ioctl(ends.takes.get(), FIONREAD, &unread), 0);
    }
    // Some of it may have been read and not taken yet.
    bool is_over = false;
    loop_->after(std::chrono::milliseconds(250), [&is_over] { is_over = true; });
    while (!is_over) ASSERT_TRUE(loop_->turn().ok());
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
  std::optional<sandbox::box::StateDirectory> state_;
  std::unique_ptr<KeptState> kept_;
  // Most of these snapshots are a few letters.
  sandbox::box::SnapshotFiles::Check check_ = [](int) { return base::done(); };
};

TEST_F(KeptStateTest, TheNextInterpreterHasWhatTheLastOneHasWrittenWhole) {
  KeptState::Ends first = kept_->give().value();
  EXPECT_FALSE(first.stored.snapshot.valid());
  for (const char* packet : {"B", "Dab", "Dc", "E3"}) send(first, packet);
  settle(first);
  KeptState::Ends second = kept_->give().value();
  EXPECT_EQ(read(second.stored.snapshot), "abc");
  for (const char* packet : {"W", "B", "Dnot whole"}) send(second, packet);
  settle(second);
  EXPECT_EQ(read(kept_->give().value().stored.snapshot), "abc");
  EXPECT_EQ(read("python"), "abc");
}

// As snapshot_file.py and snapshot_file.mjs end them: the length of an index, of all before this, a
// digest, and what it is.
std::string snapshot_of(const std::string& values, const std::string& index) {
  const auto number = [](std::size_t value) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
    return bytes;
  };
  const std::string before = values + index;
  return before + number(index.size()) + number(before.size()) + std::string(32, 'd') + "hutchst1";
}

TEST_F(KeptStateTest, OneThatDoesNotEndAsASnapshotDoesLeavesTheOneBefore) {
  check_ = sandbox::check_snapshot_end;
  open();
  KeptState::Ends ends = kept_->give().value();
  const auto store = [this, &ends](const std::string& bytes) {
    for (const std::string& packet : {std::string("B"), "D" + bytes}) send(ends, packet);
    send(ends, "E" + std::to_string(bytes.size()));
    settle(ends);
    return read("python");
  };
  const std::string good = snapshot_of("values", "{}");
  EXPECT_EQ(store(good), good);
  std::string cut = good.substr(1);
  EXPECT_EQ(store(cut), good) << "its lengths are no more those of what is there";
  EXPECT_EQ(store("values{}"), good);
  const std::string other = snapshot_of("other", "{}");
  EXPECT_EQ(store(other), other);
}

// Whoever puts it there reads it from the disk before.
TEST_F(KeptStateTest, OneThatTheDiskHasOtherwiseLeavesTheOneBefore) {
  sandbox::box::SnapshotFiles files(*state_, "python", check_);
  const auto store = [this, &files](const std::string& main, const std::string& large,
                                    const std::string& damaged) {
    EXPECT_TRUE(files.begin().ok());
    EXPECT_TRUE(files.add(main).ok());
    if (!large.empty()) {
      EXPECT_TRUE(files.begin_large(7).ok());
      EXPECT_TRUE(files.add_large(large).ok());
    }
    const auto put = files.finish(large.empty() ? 0 : 7).value();
    if (!damaged.empty()) {
      std::fstream file(directory_.path() + "/state/" + damaged, std::ios::in | std::ios::out);
      file.seekp(2);
      file.put('?');
    }
    const bool is_there = put({});
    files.finished(is_there);
    return is_there;
  };
  EXPECT_TRUE(store("a first one", "", ""));
  EXPECT_FALSE(store("another one", "", "python.new"));
  EXPECT_FALSE(store("another one", "with large values", "python.0"));
  EXPECT_EQ(read("python"), "a first one");
  EXPECT_TRUE(store("another one", "with large values", ""));
  EXPECT_EQ(read("python"), "another one");
}

TEST_F(KeptStateTest, OneThatIsAskedToStopIsNotReadBackAndLeavesTheOneBefore) {
  static std::atomic<int> looks = 0;
  check_ = [](int) {
    ++looks;
    return base::done();
  };
  sandbox::box::SnapshotFiles files(*state_, "python", check_);
  const auto store = [&files](const std::string& main, const std::stop_token& stop) {
    EXPECT_TRUE(files.begin().ok());
    EXPECT_TRUE(files.add(main).ok());
    const bool is_there = files.finish(0).value()(stop);
    files.finished(is_there);
    return is_there;
  };
  std::stop_source stop;
  EXPECT_TRUE(store("a first one", stop.get_token()));
  stop.request_stop();
  EXPECT_FALSE(store("another one", stop.get_token()));
  EXPECT_EQ(looks, 1) << "who waits for its end has no time for its content";
  EXPECT_EQ(read("python"), "a first one");
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/state/python.new"));
}

// Reading back takes as long as the disk takes, and the next interpreter does not wait for that.
TEST_F(KeptStateTest, OneThatTheDiskIsSlowWithLeavesTheOneBefore) {
  static std::atomic<bool> is_slow = false;
  static constexpr std::chrono::seconds kSlow{5};
  check_ = [](int) {
    if (is_slow) std::this_thread::sleep_for(kSlow);
    return base::done();
  };
  open();
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  is_slow = true;
  for (const char* packet : {"B", "Dnewer", "E5"}) send(ends, packet);
  EXPECT_EQ(read(kept_->give().value().stored.snapshot), "abc");
  is_slow = false;
  ends = kept_->give().value();
  for (const char* packet : {"W", "B", "Dnewer", "E5"}) send(ends, packet);
  EXPECT_EQ(read(kept_->give().value().stored.snapshot), "newer") << "the next one is stored";
}

TEST_F(KeptStateTest, TheSumIsThatOfTheBytesInWhateverPieces) {
  const std::string bytes = "some bytes, more than a few words of them";
  sandbox::box::ByteSum whole;
  whole.add(bytes);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    sandbox::box::ByteSum pieces;
    for (std::size_t at = 0; at < bytes.size(); at += size) pieces.add(bytes.substr(at, size));
    EXPECT_EQ(pieces.value(), whole.value()) << size;
    EXPECT_EQ(pieces.bytes(), whole.bytes());
    std::string other = bytes;
    ++other.at(size);
    sandbox::box::ByteSum changed;
    changed.add(other);
    EXPECT_NE(changed.value(), whole.value()) << size;
  }
  sandbox::box::ByteSum none;
  sandbox::box::ByteSum zero;
  zero.add(std::string(1, '\0'));
  EXPECT_NE(none.value(), zero.value());
}

// Other sessions of its principal have stored so much: a server says so in a file, at any time.
class WithoutShareTest : public KeptStateTest {
 protected:
  static constexpr std::int64_t kMebibyte = 1 << 20;
  static constexpr std::int64_t kWithoutShare = 3 * kMebibyte;

  WithoutShareTest() {
    open(8 * kMebibyte, 64 * kMebibyte);
    ends_ = kept_->give().value();
  }
  // As a server does, where the box has stored nothing yet.
  void use_up_share() {
    std::filesystem::create_directory(directory_.path() + "/state");
    std::ofstream(said_) << "";
  }
  // Returns how many bytes the snapshot has afterwards.
  std::int64_t store(std::int64_t bytes, std::int64_t wish = 0) {
    send(ends_, "B" + std::to_string(wish));
    for (std::int64_t left = bytes; left > 0; left -= kPieceBytes) {
      send(ends_, "D" + std::string(static_cast<std::size_t>(std::min(left, kPieceBytes)), 'x'));
      take_all();
    }
    send(ends_, "E" + std::to_string(bytes));
    settle(ends_);
    const std::string path = directory_.path() + "/state/python";
    return kept_->has_snapshot() ? static_cast<std::int64_t>(std::filesystem::file_size(path)) : 0;
  }
  KeptState::Wish wish(std::int64_t bytes_max) {
    heard_.reset();
    return kept_->await(bytes_max, [this](Outcome outcome) { heard_ = outcome; });
  }

  const std::string said_ = directory_.path() + "/state/" + sandbox::kShareUsedUp;
  KeptState::Ends ends_;
  std::optional<Outcome> heard_;

 private:
  static constexpr std::int64_t kPieceBytes = 4000;

  void take_all() {
    for (int unread = 1; unread > 0;) {
      ASSERT_TRUE(loop_->turn().ok());
      ASSERT_EQ(::ioctl(ends_.takes.get(), FIONREAD, &unread), 0);
    }
  }
};

TEST_F(WithoutShareTest, OneThatHasStoredNothingStoresLittle) {
  use_up_share();
  EXPECT_FALSE(kept_->take_no_share());
  EXPECT_EQ(store(kWithoutShare + 1), 0);
  EXPECT_TRUE(kept_->take_no_share());
  EXPECT_FALSE(kept_->take_no_share()) << "told once";
  EXPECT_EQ(wish(8 * kMebibyte).bytes_max, kWithoutShare);
  std::filesystem::remove(said_);
  EXPECT_EQ(wish(8 * kMebibyte).bytes_max, 8 * kMebibyte);
  use_up_share();
  EXPECT_EQ(store(kWithoutShare), kWithoutShare);
  open(8 * kMebibyte, 64 * kMebibyte);
  EXPECT_FALSE(kept_->take_no_share()) << "who starts the box tells that";
}

TEST_F(WithoutShareTest, WhatIsStoredDoesNotGrowHoweverOftenItIsAskedFor) {
  EXPECT_EQ(store(6 * kMebibyte), 6 * kMebibyte);
  use_up_share();
  constexpr std::int64_t kMost = 6 * kMebibyte + kWithoutShare;
  for (int i = 0; i < 3; ++i) {
    const KeptState::Wish asked = wish(32 * kMebibyte);
    EXPECT_EQ(asked.bytes_max, kMost) << i;
    EXPECT_EQ(store(kMost, asked.number), kMost);
    EXPECT_EQ(heard_, Outcome::kWhole);
  }
  EXPECT_EQ(store(kMost + 1, wish(32 * kMebibyte).number), kMost) << "the one before stays";
  EXPECT_EQ(heard_, Outcome::kNoShare);
  EXPECT_EQ(store(kMebibyte), kMebibyte);
  EXPECT_EQ(wish(32 * kMebibyte).bytes_max, kMebibyte + kWithoutShare) << "what is given up is not";
}

TEST_F(WithoutShareTest, NobodyStoresMoreUnaskedThanWithAShare) {
  EXPECT_EQ(store(8 * kMebibyte), 8 * kMebibyte);
  EXPECT_EQ(store(8 * kMebibyte + 1), 8 * kMebibyte) << "the one before stays";
  use_up_share();
  EXPECT_EQ(store(8 * kMebibyte + 1), 8 * kMebibyte);
}

TEST_F(WithoutShareTest, WhatIsTooLargeForItIsToldAsThat) {
  use_up_share();
  const KeptState::Wish asked = wish(32 * kMebibyte);
  for (const std::string& packet :
       {"B" + std::to_string(asked.number), std::string("Dabc"), std::string("E3 1 0 1")}) {
    send(ends_, packet);
  }
  while (!heard_) ASSERT_TRUE(loop_->turn().ok());
  EXPECT_EQ(heard_, Outcome::kNoShare);
}

TEST_F(WithoutShareTest, LargeValuesThatStayCountToWhatIsStored) {
  const std::string large = std::string(3000, 'y');
  for (const std::string& packet : {std::string("B0"), std::string("L7"), "A" + large,
                                    std::string("Dx"), std::string("E3001 0 7")}) {
    send(ends_, packet);
  }
  settle(ends_);
  use_up_share();
  EXPECT_EQ(wish(32 * kMebibyte).bytes_max, 3001 + kWithoutShare);
  open(8 * kMebibyte, 64 * kMebibyte);
  ends_ = kept_->give().value();
  send(ends_, "W7 0");
  settle(ends_);
  EXPECT_EQ(wish(32 * kMebibyte).bytes_max, 3001 + kWithoutShare);
}

// It is another process than the interpreter, which writes by itself.
TEST_F(KeptStateTest, OnlyWhoReadsBackWhatWasAskedForCanHaveBeenKilled) {
  KeptState::Ends ends = kept_->give().value();
  EXPECT_FALSE(kept_->take_reader());
  for (const char* packet : {"B0", "Dabc"}) send(ends, packet);
  settle(ends);
  EXPECT_FALSE(kept_->take_reader()) << "nobody asked for it";
  send(ends, "E3 0");
  settle(ends);
  std::optional<Outcome> heard;
  EXPECT_EQ(kept_->await(1000, [&heard](Outcome outcome) { heard = outcome; }).number, 1);
  for (const char* packet : {"B1", "Dab"}) send(ends, packet);
  settle(ends);
  EXPECT_TRUE(kept_->take_reader());
  EXPECT_FALSE(kept_->take_reader()) << "there is one";
  send(ends, "E2 1");
  while (!heard) ASSERT_TRUE(loop_->turn().ok());
  EXPECT_EQ(read("python"), "ab") << "the snapshot goes on without it";
  EXPECT_EQ(kept_->await(1000, [](Outcome) {}).number, 2);
  for (const char* packet : {"B2", "Dabc"}) send(ends, packet);
  settle(ends);
  ends.takes.reset();
  EXPECT_FALSE(kept_->take_reader()) << "the interpreter itself was";
}

TEST_F(KeptStateTest, AnotherBoxFindsIt) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  open();
  EXPECT_TRUE(kept_->has_snapshot());
  EXPECT_EQ(read(kept_->give().value().stored.snapshot), "abc");
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
  EXPECT_EQ(read(kept_->give().value().stored.snapshot), "abc");
}

TEST_F(KeptStateTest, ThatNothingIsThereTakesItsPlaceToo) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  EXPECT_TRUE(kept_->has_snapshot());
  send(ends, "N");
  while (kept_->has_snapshot()) ASSERT_TRUE(loop_->turn().ok());
}

TEST_F(KeptStateTest, WhoBeginsAnewFindsNothing) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  kept_->forget();
  EXPECT_FALSE(kept_->give().value().stored.snapshot.valid());
}

TEST_F(KeptStateTest, OneThatNobodyReadsToItsEndTwiceIsSetAside) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(kept_->take_set_aside());
    EXPECT_TRUE(kept_->give().value().stored.snapshot.valid());
  }
  EXPECT_FALSE(kept_->give().value().stored.snapshot.valid());
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
    EXPECT_TRUE(ends.stored.snapshot.valid());
    send(ends, "W");
    settle(ends);
  }
}

TEST_F(KeptStateTest, WhatWasWrittenWholeCountsThoughNobodyHasHeardIt) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"W", "B", "Dabc", "E3"}) send(ends, packet);
  EXPECT_EQ(read(kept_->give().value().stored.snapshot), "abc");
}

TEST_F(KeptStateTest, TheWriterHearsHowMuchMayComeAndWhenTheNext) {
  KeptState::Ends ends = kept_->give().value();
  char said[64] = {};
  ASSERT_GT(::read(ends.answers.get(), said, sizeof said), 0);
  EXPECT_EQ(std::string(said), "0/0/1000 ");
  const auto before = std::chrono::steady_clock::now().time_since_epoch();
  send(ends, "N");
  settle(ends);
  const ssize_t size = ::read(ends.answers.get(), said, sizeof said);
  ASSERT_GT(size, 0);
  const std::chrono::milliseconds next(
      std::stoll(std::string(said, static_cast<std::size_t>(size))));
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  EXPECT_GE(next, before + std::chrono::milliseconds(100));
  EXPECT_LE(next, now + std::chrono::milliseconds(101));
}

TEST_F(KeptStateTest, SnapshotsTakeATenthOfTheTimeAtMost) {
  KeptState::Ends ends = kept_->give().value();
  char said[64] = {};
  ASSERT_GT(::read(ends.answers.get(), said, sizeof said), 0);
  send(ends, "B");
  settle(ends);  // it takes a quarter of a second, at least
  const auto end = std::chrono::steady_clock::now().time_since_epoch();
  for (const char* packet : {"Dabc", "E3"}) send(ends, packet);
  settle(ends);
  const ssize_t size = ::read(ends.answers.get(), said, sizeof said);
  ASSERT_GT(size, 0);
  const std::chrono::milliseconds next(
      std::stoll(std::string(said, static_cast<std::size_t>(size))));
  EXPECT_GE(next, end + 9 * std::chrono::milliseconds(250));
}

// Each begins another snapshot, or is no part of one: hutch-box rests after each, for a tenth of a
// second at least.
TEST_F(KeptStateTest, WhoSendsWithoutEndIsHeardNowAndThen) {
  for (const char* packet : {"W", "N", "Dab", "B", "E2"}) {
    KeptState::Ends ends = kept_->give().value();
    ASSERT_TRUE(base::set_nonblocking(ends.takes.get()).ok());
    const std::string bytes = framed(packet);
    const auto flood = [&] {
      while (::write(ends.takes.get(), bytes.data(), bytes.size()) > 0) continue;
    };
    bool is_over = false;
    loop_->after(std::chrono::milliseconds(350), [&is_over] { is_over = true; });
    while (!is_over) {
      flood();
      ASSERT_TRUE(loop_->turn().ok());
    }
    std::string answers(4096, '\0');
    const ssize_t size = ::read(ends.answers.get(), answers.data(), answers.size());
    ASSERT_GT(size, 0);
    answers.resize(static_cast<std::size_t>(size));
    EXPECT_LE(std::count(answers.begin(), answers.end(), ' '), 1 + 4) << packet;
  }
}

TEST_F(KeptStateTest, AWriterThatDiedCostsTheNextOneNothing) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dcut", "B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  EXPECT_EQ(read(kept_->give().value().stored.snapshot), "abc");
}

TEST_F(KeptStateTest, OneThatIsNoGoodIsSetAsideAtOnceAndTheNextIsNot) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dbad", "E3"}) send(ends, packet);
  settle(ends);
  ends = kept_->give().value();
  EXPECT_TRUE(kept_->is_being_read());
  send(ends, "M");
  settle(ends);
  EXPECT_FALSE(kept_->is_being_read());
  EXPECT_FALSE(kept_->has_snapshot());
  EXPECT_EQ(read("python.bad"), "bad");
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(read(kept_->give().value().stored.snapshot), "abc");
}

TEST_F(KeptStateTest, OneThatThereWasNoRoomForWasNotTried) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  for (int i = 0; i < 8; ++i) {
    ends = kept_->give().value();
    EXPECT_TRUE(ends.stored.snapshot.valid()) << i;
    send(ends, "K");
    settle(ends);
    EXPECT_FALSE(kept_->is_being_read());
  }
}

TEST_F(KeptStateTest, PowerCutsWhileItIsReadCountLessThanItsReaders) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(kept_->give().value().stored.snapshot.valid()) << i;
    open();  // the box ends without a word
  }
  EXPECT_FALSE(kept_->give().value().stored.snapshot.valid()) << "it may be at fault all the same";
}

TEST_F(KeptStateTest, AProcessThatDidNotStartHasTriedNothing) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(kept_->give().value().stored.snapshot.valid());
    kept_->was_not_given();
  }
}

TEST_F(KeptStateTest, WhatWasSetAsideIsForgottenToo) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dbad", "E3"}) send(ends, packet);
  settle(ends);
  ends = kept_->give().value();
  for (const char* packet : {"M", "B", "Dabc", "E3", "B", "Dcut"}) send(ends, packet);
  settle(ends);
  kept_->forget();
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() + "/state"));
}

TEST_F(KeptStateTest, OnlyAWriterThatIsAtWorkCanHaveBeenKilled) {
  KeptState::Ends ends = kept_->give().value();
  EXPECT_FALSE(kept_->take_writer());
  for (const char* packet : {"B", "Dabc"}) send(ends, packet);
  settle(ends);
  EXPECT_TRUE(kept_->take_writer());
  EXPECT_FALSE(kept_->take_writer());
  EXPECT_FALSE(kept_->has_snapshot());
}

// Somebody else has the pipe still, and writes as fast as it is read.
TEST_F(KeptStateTest, TheEndOfAConversationIsNotKeptWaiting) {
  KeptState::Ends ends = kept_->give().value();
  ASSERT_TRUE(base::set_nonblocking(ends.takes.get()).ok());
  std::atomic<bool> goes_on = true;
  std::thread floods([&] {
    while (goes_on) {
      for (const char* packet : {"B", "E0"}) {
        const std::string bytes = framed(packet);
        (void)!::write(ends.takes.get(), bytes.data(), bytes.size());
      }
    }
  });
  while (!kept_->has_snapshot()) ASSERT_TRUE(loop_->turn().ok());
  const KeptState::Ends next = kept_->give().value();
  EXPECT_TRUE(next.takes.valid());
  goes_on = false;
  floods.join();
}

// A number of large values is the writer's own; 77 and 88 are two of them.
TEST_F(KeptStateTest, LargeValuesStayForAsLongAsTheSnapshotNeedsThem) {
  KeptState::Ends ends = kept_->give().value();
  const auto write = [this, &ends](const std::vector<const char*>& packets) {
    for (const char* packet : packets) send(ends, packet);
    settle(ends);
    return read("python") + " " + read("python.0") + " " + read("python.1");
  };
  EXPECT_EQ(write({"B", "L77", "Aab", "Dx", "Ac", "E4 0 77"}), "x abc ");
  EXPECT_EQ(write({"B", "Dy", "E1 0 77"}), "y abc ");
  EXPECT_EQ(write({"B", "L88", "Ade", "Dcut", "B", "Dz", "E1 0 77"}), "z abc ") << "not finished";
  EXPECT_EQ(write({"B", "Dlost", "E4 0 88"}), "z abc ") << "it was never there";
  EXPECT_EQ(write({"B", "L88", "Ade", "Dq", "E3 0 88"}), "q  de");
  EXPECT_EQ(write({"B", "Dr", "E1 0 0"}), "r  ");
  EXPECT_EQ(write({"B", "L77", "Aab", "Dx", "E3 0 77"}), "x ab ");
  send(ends, "N");
  while (kept_->has_snapshot()) ASSERT_TRUE(loop_->turn().ok());
  EXPECT_EQ(read("python.0") + read("python.1"), "");
}

TEST_F(KeptStateTest, LargeValuesThatStayCountOnlyToAllThatASnapshotMayHave) {
  KeptState::Ends ends = kept_->give().value();
  const std::string large = "A" + std::string(600, 'x');
  const std::string small = "D" + std::string(500, 'y');
  const std::string more = "D" + std::string(950, 'y');
  for (const std::string& packet :
       {std::string("B"), std::string("L7"), large, std::string("E600 0 7")}) {
    send(ends, packet);
  }
  settle(ends);
  EXPECT_EQ(read("python.0").size(), 600U);
  for (const std::string& packet : {std::string("B"), more, std::string("E950 0 7")}) {
    send(ends, packet);
  }
  settle(ends);
  EXPECT_EQ(read("python"), "") << "they would be 1,550 together";
  for (const std::string& packet : {std::string("B"), small, std::string("E500 0 7")}) {
    send(ends, packet);
  }
  settle(ends);
  EXPECT_EQ(read("python").size(), 500U) << "1,100 together, of which 600 are there already";
  EXPECT_EQ(read("python.0").size(), 600U);
}

// Who forgets the state of a session that runs removes its files.
TEST_F(KeptStateTest, LargeValuesThatSomebodyRemovedAreWrittenAnew) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "L7", "Aold", "Dx", "E4 0 7"}) send(ends, packet);
  settle(ends);
  const auto heard = [&ends] {
    char said[256] = {};
    (void)!::read(ends.answers.get(), said, sizeof said - 1);
    return std::string(said);
  };
  EXPECT_NE(heard().find("/7/"), std::string::npos);
  std::filesystem::remove(directory_.path() + "/state/python");
  std::filesystem::remove(directory_.path() + "/state/python.0");
  (void)kept_->await(1000, [](Outcome) {});
  EXPECT_NE(heard().find("/0/"), std::string::npos) << "before the wish, which is to have them";
  for (const char* packet : {"B", "Dy", "E1 0 7"}) send(ends, packet);
  settle(ends);
  EXPECT_EQ(read("python"), "");
  EXPECT_NE(heard().find("/0/"), std::string::npos);
}

// The session may store less than before, as where its principal has used up its part of the disk.
TEST_F(KeptStateTest, WhatWasStoredMayBeStoredAgain) {
  KeptState::Ends ends = kept_->give().value();
  const std::string large = "D" + std::string(900, 'x');
  for (const std::string& packet : {std::string("B"), large, std::string("E900 0")}) {
    send(ends, packet);
  }
  settle(ends);
  open(10, 1000);
  ends = kept_->give().value();
  send(ends, "W");
  const std::string other = "D" + std::string(950, 'y');
  const std::string more = "D" + std::string(1001, 'z');
  for (const std::string& packet : {std::string("B"), other, std::string("E950 0"),
                                    std::string("B"), more, std::string("E1001 0")}) {
    send(ends, packet);
  }
  settle(ends);
  EXPECT_EQ(read("python"), std::string(950, 'y'));
}

// An eighth and 4 MiB more than the snapshot before, whatever it may have else: who writes hears
// it, at its start, after each snapshot that was asked for, and with each wish.
TEST_F(KeptStateTest, WhoWritesHearsThatWhatWasStoredMayGrow) {
  constexpr std::int64_t kGrown = 2400 + 300 + (4 << 20);
  open(1000, 8 << 20);
  const auto last_said = [](const KeptState::Ends& ends) {
    char said[256] = {};
    (void)!::read(ends.answers.get(), said, sizeof said - 1);
    const std::string text = said;
    return std::stoll(text.substr(text.rfind('/') + 1));
  };
  KeptState::Ends ends = kept_->give().value();
  EXPECT_EQ(last_said(ends), 1000);
  EXPECT_EQ(kept_->await(3000, [](Outcome) {}).bytes_max, 3000);
  for (const std::string& packet :
       {std::string("B1"), "D" + std::string(2400, 'x'), std::string("E2400 0")}) {
    send(ends, packet);
  }
  settle(ends);
  EXPECT_EQ(last_said(ends), kGrown);
  EXPECT_EQ(kept_->await(3000, [](Outcome) {}).bytes_max, kGrown);
  EXPECT_EQ(kept_->await(8 << 20, [](Outcome) {}).bytes_max, 8 << 20);
  EXPECT_EQ(last_said(kept_->give().value()), kGrown);
  open(1000, 3000);
  EXPECT_EQ(last_said(kept_->give().value()), 3000) << "no more than all that there may be";
}

TEST_F(KeptStateTest, TriesThatSomebodyRemovedAreNone) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  ends = kept_->give().value();
  std::filesystem::remove(directory_.path() + "/state/python.tries");
  kept_->was_not_given();
  EXPECT_TRUE(kept_->give().value().stored.snapshot.valid());
}

// Twice that counts as much as one whose reader ends by itself.
TEST_F(KeptStateTest, AReaderThatIsEndedForItsSessionsSakeCountsAsABoxDoes) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "E3"}) send(ends, packet);
  settle(ends);
  for (int i = 0; i < 5; ++i) {
    ends = kept_->give().value();
    EXPECT_TRUE(ends.stored.snapshot.valid()) << i;
    kept_->is_not_waited_for();
  }
  EXPECT_TRUE(kept_->give().value().stored.snapshot.valid());
  kept_->is_not_waited_for();
  EXPECT_FALSE(kept_->give().value().stored.snapshot.valid());
  EXPECT_TRUE(kept_->take_set_aside());
}

TEST_F(KeptStateTest, AReaderSaysWhichLargeValuesItsSnapshotNeeds) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "L7", "Aold", "Dx", "E4 0 7"}) send(ends, packet);
  settle(ends);
  std::ofstream(directory_.path() + "/state/python.1") << "left by a box that was killed";
  open();
  ends = kept_->give().value();
  ASSERT_EQ(ends.stored.large.size(), 2U);
  EXPECT_EQ(ends.all().size(), 5U);
  EXPECT_EQ(read(ends.stored.large[0]), "old");
  char said[32] = {};
  ASSERT_GT(::read(ends.answers.get(), said, sizeof said), 0);
  EXPECT_EQ(std::string(said), "0/2/1500 ") << "a snapshot is there, and may grow";
  for (const char* packet : {"W7 0", "B", "Dy", "E1 0 7"}) send(ends, packet);
  settle(ends);
  EXPECT_EQ(read("python") + read("python.0") + read("python.1"), "yold");
  // One that has found none writes all anew, and nothing that is needed goes before that is there.
  open();
  ends = kept_->give().value();
  for (const char* packet : {"W0 0", "B", "L8", "Anew", "Dz", "E4 0 8"}) send(ends, packet);
  settle(ends);
  EXPECT_EQ(read("python") + read("python.0") + read("python.1"), "znew");
}

TEST_F(KeptStateTest, LargeValuesAreSetAsideAndForgottenWithTheirSnapshot) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "L7", "Aold", "Dx", "E4 0 7"}) send(ends, packet);
  settle(ends);
  ends = kept_->give().value();
  send(ends, "M");
  settle(ends);
  EXPECT_EQ(read("python.bad") + read("python.0.bad"), "xold");
  EXPECT_EQ(read("python.0"), "");
  kept_->forget();
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() + "/state"));
}

TEST_F(KeptStateTest, WhoWishesForASnapshotHearsWhatBecameOfIt) {
  const std::string large(2000, 'x');
  struct Case {
    std::vector<std::string> packets;
    Outcome outcome;
  };
  const Case cases[] = {
      {{"B1", "Dabc", "E3 0"}, Outcome::kWhole},
      {{"B2", "Dabc", "E3 1"}, Outcome::kUnstorable},
      {{"B3", "N"}, Outcome::kWhole},
      {{"X4"}, Outcome::kNotWritten},
      {{"B5", "X5"}, Outcome::kNotWritten},
      {{"B6", "Dabc", "E4 0"}, Outcome::kNotWritten},
      {{"B7", "D" + large, "E2000 0"}, Outcome::kWhole},
      {{"B8", "D" + large + large, "E4000 0"}, Outcome::kTooLarge},
      {{"B9", "Dabc", "E3 2 0 1"}, Outcome::kTooLarge},
      {{"B10", "X10 1"}, Outcome::kModulesAlone},
  };
  KeptState::Ends ends = kept_->give().value();
  std::int64_t number = 0;
  for (const Case& one : cases) {
    std::optional<Outcome> heard;
    EXPECT_EQ(kept_->await(3000, [&heard](Outcome outcome) { heard = outcome; }).number, ++number);
    for (const std::string& packet : one.packets) send(ends, packet);
    while (!heard) ASSERT_TRUE(loop_->turn().ok());
    EXPECT_EQ(*heard, one.outcome) << number;
  }
}

TEST_F(KeptStateTest, WritersThatDiedBeforeItDoNotCostASnapshotThatSomebodyAskedFor) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B0", "Dcut", "B0", "Dcut"}) send(ends, packet);
  std::optional<Outcome> heard;
  EXPECT_EQ(kept_->await(1000, [&heard](Outcome outcome) { heard = outcome; }).number, 1);
  for (const char* packet : {"B1", "Dabc", "E3 0"}) send(ends, packet);
  while (!heard) ASSERT_TRUE(loop_->turn().ok());
  EXPECT_EQ(heard, Outcome::kWhole);
  EXPECT_EQ(read("python"), "abc");
}

TEST_F(KeptStateTest, AWishThatComesWhileAnotherSnapshotIsWrittenWaitsForNoRestOfThatOne) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B0", "Dabc"}) send(ends, packet);
  settle(ends);  // it takes a quarter of a second, and would rest ten times as long
  std::optional<Outcome> heard;
  (void)kept_->await(1000, [&heard](Outcome outcome) { heard = outcome; });
  for (const char* packet : {"E3 0", "B1", "Dd", "E1 0"}) send(ends, packet);
  const auto began = std::chrono::steady_clock::now();
  while (!heard) ASSERT_TRUE(loop_->turn().ok());
  EXPECT_EQ(heard, Outcome::kWhole);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(2400));
  EXPECT_EQ(read("python"), "d");
}

TEST_F(KeptStateTest, AWishToNobodyIsAnsweredAtOnce) {
  std::optional<Outcome> heard;
  (void)kept_->await(1000, [&heard](Outcome outcome) { heard = outcome; });
  ASSERT_TRUE(loop_->turn().ok());
  EXPECT_EQ(heard, Outcome::kNotWritten);
}

TEST_F(KeptStateTest, ASnapshotThatNobodyAskedForIsNoAnswer) {
  KeptState::Ends ends = kept_->give().value();
  std::optional<Outcome> heard;
  (void)kept_->await(1000, [&heard](Outcome outcome) { heard = outcome; });
  for (const char* packet : {"B0", "Dabc", "E3 0"}) send(ends, packet);
  settle(ends);
  EXPECT_FALSE(heard.has_value());
  ends.takes.reset();  // its interpreter has ended
  while (!heard) ASSERT_TRUE(loop_->turn().ok());
  EXPECT_EQ(heard, Outcome::kNotWritten);
}

TEST_F(KeptStateTest, APacketOfNoKindEndsTheConversation) {
  KeptState::Ends ends = kept_->give().value();
  for (const char* packet : {"B", "Dabc", "?"}) send(ends, packet);
  settle(ends);
  char said[64] = {};
  while (::read(ends.answers.get(), said, sizeof said) > 0) continue;  // to the end
  EXPECT_FALSE(kept_->has_snapshot());
}

}  // namespace
