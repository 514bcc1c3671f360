// Tests what is kept of the outputs of earlier runs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/fd.h"
#include "sandbox/box/kept_outputs.h"
#include "sandbox/dropped_outputs.h"

namespace {

namespace fs = std::filesystem;
using sandbox::box::KeptOutputs;

constexpr std::size_t kMegabyte = 1 << 20;

class KeptOutputsOfRuns : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "hutch_runs_XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    session_ = base::UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    directory_ = path;
    path += "/runs";
    fs::create_directory(path);
    runs_ = path;
    fd_ = base::UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { fs::remove_all(directory_); }

  // `number` is also the age: later ones are newer.
  void make_run(int number, std::size_t stdout_bytes) const {
    const fs::path run = runs_ / ("run_" + std::to_string(number));
    fs::create_directory(run);
    std::ofstream(run / "stdout") << std::string(stdout_bytes, 'x');
    std::ofstream(run / "stderr") << "words\n";
    std::ofstream(run / "1.png") << std::string(100, 'p');
    std::ofstream(run / "record.json") << "{}";
    fs::last_write_time(run / "record.json",
                        fs::file_time_type::clock::now() - std::chrono::hours(100 - number));
  }

  [[nodiscard]] std::string read(int number, const char* name) const {
    std::ifstream file(runs_ / ("run_" + std::to_string(number)) / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path directory_;
  fs::path runs_;
  base::UniqueFd session_;
  base::UniqueFd fd_;
};

TEST_F(KeptOutputsOfRuns, WhatComesLaterCountsToo) {
  KeptOutputs kept(session_.get(), fd_.get(), 3 * kMegabyte);
  const auto print_more = [&](int number) {
    const std::string run = "run_" + std::to_string(number);
    std::ofstream(runs_ / run / "stdout", std::ios::app) << std::string(kMegabyte, 'y');
    kept.grew(run, kMegabyte);
  };
  const auto is_whole = [&](int number, std::size_t bytes) {
    return read(number, "stdout").find("bytes were dropped here") == std::string::npos &&
           read(number, "stdout").size() == bytes;
  };
  for (int i = 0; i < 2; ++i) {
    make_run(i, kMegabyte);
    kept.add("run_" + std::to_string(i));
  }
  ASSERT_TRUE(is_whole(0, kMegabyte) && is_whole(1, kMegabyte));
  print_more(1);
  EXPECT_FALSE(is_whole(0, kMegabyte)) << "the oldest gives way to what a newer one printed later";
  EXPECT_TRUE(is_whole(1, 2 * kMegabyte));
  print_more(0);  // made small, and prints again
  print_more(0);
  EXPECT_FALSE(is_whole(1, 2 * kMegabyte));
}

TEST_F(KeptOutputsOfRuns, AllStaysBelowTheBound) {
  KeptOutputs kept(session_.get(), fd_.get(), 10 * kMegabyte);
  for (int i = 0; i < 5; ++i) {
    make_run(i, kMegabyte);
    kept.add("run_" + std::to_string(i));
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(read(i, "stdout"), std::string(kMegabyte, 'x'));
}

TEST_F(KeptOutputsOfRuns, TheOldestKeepBothEndsAndTheirSize) {
  KeptOutputs kept(session_.get(), fd_.get(), 3 * kMegabyte);
  for (int i = 0; i < 4; ++i) {
    make_run(i, kMegabyte);
    kept.add("run_" + std::to_string(i));
  }
  const std::string oldest = read(0, "stdout");
  EXPECT_EQ(oldest.size(), kMegabyte);
  EXPECT_EQ(oldest.substr(0, 30'000), std::string(30'000, 'x'));
  EXPECT_EQ(oldest.substr(kMegabyte - 30'000), std::string(30'000, 'x'));
  EXPECT_NE(oldest.find("bytes were dropped here"), std::string::npos);
  EXPECT_FALSE(fs::exists(runs_ / "run_0" / "1.png"));
  EXPECT_EQ(read(0, "stderr"), "words\n");
  EXPECT_EQ(read(3, "stdout"), std::string(kMegabyte, 'x'));
  EXPECT_TRUE(fs::exists(runs_ / "run_3" / "1.png"));
}

TEST_F(KeptOutputsOfRuns, WhatIsDroppedIsCountedForTheLog) {
  KeptOutputs kept(session_.get(), fd_.get(), 3 * kMegabyte);
  const auto make = [&](int first, int last) {
    for (int i = first; i < last; ++i) {
      make_run(i, kMegabyte);
      kept.add("run_" + std::to_string(i));
    }
  };
  make(0, 2);
  EXPECT_EQ(sandbox::take_dropped_outputs(session_.get()).runs, 0);
  make(2, 5);
  const auto dropped = sandbox::take_dropped_outputs(session_.get());
  EXPECT_EQ(dropped.runs, 3);
  EXPECT_GT(dropped.bytes, static_cast<std::int64_t>(2 * kMegabyte));
  EXPECT_LT(dropped.bytes, static_cast<std::int64_t>(4 * kMegabyte));
  EXPECT_EQ(sandbox::take_dropped_outputs(session_.get()).runs, 0) << "it was taken";
  {
    const base::UniqueFd busy(::open((directory_ / "dropped_outputs").c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::flock(busy.get(), LOCK_EX), 0);
    make(5, 6);
  }
  EXPECT_EQ(sandbox::take_dropped_outputs(session_.get()).runs, 0);
  make(6, 7);
  EXPECT_EQ(sandbox::take_dropped_outputs(session_.get()).runs, 2) << "with what had to wait";
}

TEST_F(KeptOutputsOfRuns, ABoxThatStartsAgainKnowsTheRunsBefore) {
  for (int i = 0; i < 4; ++i) make_run(i, kMegabyte);
  KeptOutputs kept(session_.get(), fd_.get(), 3 * kMegabyte);
  kept.add("run_3");
  EXPECT_NE(read(0, "stdout").find("dropped here"), std::string::npos);
  EXPECT_EQ(read(2, "stdout"), std::string(kMegabyte, 'x'));
}

TEST_F(KeptOutputsOfRuns, RunsThatEndAtOnceAreCountedOnce) {
  KeptOutputs kept(session_.get(), fd_.get(), 5 * kMegabyte / 2);
  for (const int number : {0, 1}) make_run(number, kMegabyte);
  for (const char* run : {"run_0", "run_1"}) kept.add(run);  // the first of them finds the other
  EXPECT_EQ(read(0, "stdout"), std::string(kMegabyte, 'x'));
  EXPECT_EQ(read(1, "stdout"), std::string(kMegabyte, 'x'));
  make_run(2, kMegabyte);
  kept.add("run_2");
  EXPECT_NE(read(0, "stdout").find("dropped here"), std::string::npos) << "it was the first to end";
  EXPECT_EQ(read(1, "stdout"), std::string(kMegabyte, 'x'));
}

TEST_F(KeptOutputsOfRuns, TheNewestStaysWholeHoweverLarge) {
  make_run(0, 5 * kMegabyte);
  KeptOutputs kept(session_.get(), fd_.get(), kMegabyte);
  kept.add("run_0");
  EXPECT_EQ(read(0, "stdout"), std::string(5 * kMegabyte, 'x'));
}

}  // namespace
