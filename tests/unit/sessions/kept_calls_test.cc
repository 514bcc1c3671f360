// Tests that what an API keeps of a run lies beside its session's files, whole or not at all.
#include "sessions/kept_calls.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>

#include "base/random_id.h"
#include "sessions/session_directory.h"

namespace sessions {
namespace {

class KeptCallsTest : public ::testing::Test {
 protected:
  KeptCallsTest() : directory_(::testing::TempDir() + "hutch_calls_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    std::filesystem::create_directories(SessionDirectory(directory_, "session_a").path());
  }
  ~KeptCallsTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
  const std::string run_ = base::short_id("run_");
};

TEST_F(KeptCallsTest, WhatIsKeptIsFoundAndCanBeReplaced) {
  const KeptCalls calls(directory_);
  ASSERT_TRUE(calls.keep("session_a", run_, "first").ok());
  ASSERT_TRUE(calls.keep("session_a", run_, "second").ok());
  EXPECT_EQ(calls.find("session_a", run_).value(), "second");
  EXPECT_FALSE(calls.find("session_a", base::short_id("run_")).ok());
  EXPECT_FALSE(calls.keep("session_gone", run_, "x").ok());
}

TEST_F(KeptCallsTest, NothingElseIsReadByTheNameOfARun) {
  const KeptCalls calls(directory_);
  ASSERT_TRUE(calls.keep("session_a", run_, "first").ok());
  for (const char* name : {"../secret", "", ".", "run_../x", "run_1/../run_1"}) {
    EXPECT_EQ(calls.find("session_a", name).error().kind, base::Error::Kind::kNotFound) << name;
  }
}

}  // namespace
}  // namespace sessions
