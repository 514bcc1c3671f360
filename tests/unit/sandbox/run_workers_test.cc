// With what the processes of runs are started.
#include "sandbox/box/run_workers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sandbox/box/event_loop.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/sandbox/fake_init.h"

namespace {

using sandbox::Language;
using sandbox::box::EventLoop;
using sandbox::box::Job;
using sandbox::box::RunWorkers;
using For = sandbox::box::RunWorkers::For;

class RunWorkersTest : public ::testing::Test {
 protected:
  RunWorkersTest() {
    std::filesystem::create_directory(data_.path() + "/profiles");
    data_.write("profiles/bash.json", R"({"program": ["/bin/sh"], "process": "per_run"})");
    data_.write("profiles/python.json", R"({"program": ["/bin/sh"], "process": "per_session"})");
    spec_.data_directory = data_.path();
    spec_.env = {{"OF", "session"}};
    job_.run.language = job_.request.language = Language::kBash;
    job_.request.code = "echo code";
    job_.request.env = {{"MINE", "run"}};
  }
  std::unique_ptr<RunWorkers> workers() {
    return std::make_unique<RunWorkers>(*loop_, init_.process(), spec_);
  }
  FakeInit::Process process_of(For whom) {
    auto started = workers()->start(job_, whom, nullptr, {[](const auto&, const auto&) {}, {}});
    EXPECT_TRUE(started.ok());
    EXPECT_FALSE(started.value().reads_state);
    RunWorkers::retire(*loop_, std::move(started.value().worker));
    auto processes = init_.take_processes();
    EXPECT_EQ(processes.size(), 1U);
    return std::move(processes.at(0));
  }

  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  FakeInit init_{*loop_};
  const TemporaryDirectory data_;
  sandbox::BoxSpec spec_;
  Job job_;
};

TEST_F(RunWorkersTest, AProcessForOneRunHasItsCodeAndVariables) {
  job_.request.directory = "/workspace/here";
  job_.request.restart = true;
  const FakeInit::Process process = process_of(For::kOneRun);
  EXPECT_EQ(process.strings.at(0), "/workspace/here");
  EXPECT_TRUE(process.has("--restart"));
  EXPECT_TRUE(process.has("OF=session"));
  EXPECT_TRUE(process.has("MINE=run"));
  ASSERT_EQ(process.descriptors.size(), 4U);
  EXPECT_EQ(base::read_all(process.descriptors[3].get(), 100).value(), "echo code");
}

TEST_F(RunWorkersTest, AProcessForManyRunsHasNothingOfTheFirst) {
  job_.run.language = job_.request.language = Language::kPython;
  const FakeInit::Process process = process_of(For::kManyRuns);
  EXPECT_EQ(process.strings.at(0), "/workspace");
  EXPECT_TRUE(process.has("OF=session"));
  EXPECT_FALSE(process.has("MINE=run"));
  EXPECT_EQ(process.descriptors.size(), 5U) << "a channel";
}

TEST_F(RunWorkersTest, TheShellOfTheNextRunWaitsForCode) {
  const FakeInit::Process process = process_of(For::kNextRun);
  EXPECT_TRUE(process.has("--ahead"));
  ASSERT_EQ(process.descriptors.size(), 5U) << "the code, and what says that it is there";
  EXPECT_EQ(base::read_all(process.descriptors[3].get(), 100).value(), "");
}

TEST_F(RunWorkersTest, ALanguageThatTheHostLacksIsNamed) {
  EXPECT_TRUE(workers()->profile_of(Language::kBash).ok());
  data_.write("profiles/sql.json", R"({"program": ["/nonexistent"], "package": "none-such"})");
  const auto profile = workers()->profile_of(Language::kSql);
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().kind, base::Error::Kind::kUnsupported);
  EXPECT_NE(profile.error().message.find("none-such"), std::string::npos);
}

}  // namespace
