// Tests what the progress of a run says while its call is followed.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sessions/run_files.h"
#include "sessions/run_state.h"
#include "sessions/session_directory.h"
#include "tools/mcp/run_reply.h"

namespace {

using sandbox::RunStatus;

class RunReplyTest : public ::testing::Test {
 protected:
  RunReplyTest() : directory_(::testing::TempDir() + "hutch_run_reply_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    state_.session_id = "session_a";
    state_.run.run_id = "run_1";
  }
  ~RunReplyTest() override { std::filesystem::remove_all(directory_); }

  void print(const std::string& text) {
    const std::string run = sessions::SessionDirectory(directory_, "session_a").run("run_1");
    std::filesystem::create_directories(run);
    std::ofstream(run + "/stdout") << text;
    state_.run.stdout_bytes = static_cast<std::int64_t>(text.size());
  }

  [[nodiscard]] std::string newest_line() const {
    return tools::newest_line(sessions::RunFiles(directory_), state_);
  }

  std::string directory_;
  sessions::RunState state_;
};

TEST_F(RunReplyTest, TheProgressOfARunThatWaitsSaysBehindWhat) {
  EXPECT_EQ(newest_line(), "queued");
  state_.run.waits_for = "run_0";
  EXPECT_EQ(newest_line(), "queued behind run_0 (cancel_run ends that one)");
}

TEST_F(RunReplyTest, TheProgressOfARunThatGoesOnIsItsNewestLineAndTheTimeItHas) {
  state_.run.status = RunStatus::kRunning;
  EXPECT_EQ(newest_line(), "running");
  state_.run.left_ms = 42'900;
  state_.run.timeout_seconds = 60;
  EXPECT_EQ(newest_line(), "running (42 of 60 seconds left)");
  print("first\n10%\r20%\n");
  EXPECT_EQ(newest_line(), "20% (42 of 60 seconds left)");
  state_.run.is_waking = true;
  print("");
  EXPECT_EQ(newest_line(), "reading the session's stored variables (42 of 60 seconds left)");
}

TEST_F(RunReplyTest, ATaskSaysBehindWhatItWaitsAndTheTimeItHas) {
  const auto message = [this] { return tools::task_of_run(state_).message; };
  EXPECT_EQ(message(), "queued, run_id run_1 in session session_a");
  state_.run.waits_for = "run_0";
  EXPECT_EQ(message(),
            "queued behind run_0 (cancel_run ends that one), run_id run_1 in session session_a");
  state_.run.status = RunStatus::kRunning;
  state_.run.left_ms = 549'900;
  state_.run.timeout_seconds = 600;
  EXPECT_EQ(message(), "running (549 of 600 seconds left), run_id run_1 in session session_a");
  state_.run.status = RunStatus::kCompleted;
  state_.run.left_ms = 0;
  EXPECT_EQ(message(), "completed, run_id run_1 in session session_a");
}

}  // namespace
