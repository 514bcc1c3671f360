// A call is answered before its client gives up, counted from when it came.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "tests/unit/tools/caller.h"
#include "tests/unit/tools/fake_sandbox.h"
#include "tools/tool_kit.h"

namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

class HandOver : public testing::Test {
 protected:
  HandOver() : directory_(::testing::TempDir() + "hutch_hand_over_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    store_ = sessions::Store::open(directory_ + "/hutch.db").value();
    share_.emplace(share::FileShare::open(directory_ + "/shared", *store_).value());
    sessions::ManagerConfig config;
    config.state_directory = directory_;
    for (const sandbox::LimitRow& row : sandbox::kLimitRows)
      config.most_limits.*row.member = row.most;
    manager_ = sessions::Manager::open(config, *store_, sandbox_).value();
    tools_ = tools::run_tools({*manager_, *share_, ""});
    principal_ = store_->ensure_principal("p").value();
  }
  ~HandOver() override {
    manager_.reset();
    std::filesystem::remove_all(directory_);
  }

  // The result of a call that came `age` ago, and how long it took from now.
  std::pair<json, milliseconds> call(const std::string& tool, const json& arguments, seconds age) {
    tools::fake::Caller caller(principal_, "connection");
    caller.set_age(age);
    const auto started = Clock::now();
    for (const mcp::Tool& one : tools_) {
      if (one.name != tool) continue;
      const auto outcome = one.call(arguments, caller);
      return {std::get<mcp::ToolResult>(outcome).structured_content,
              std::chrono::duration_cast<milliseconds>(Clock::now() - started)};
    }
    ADD_FAILURE() << "no tool " << tool;
    return {};
  }

  std::string directory_;
  sandbox::fake::FakeSandbox sandbox_;
  std::unique_ptr<sessions::Store> store_;
  std::optional<share::FileShare> share_;
  std::unique_ptr<sessions::Manager> manager_;
  std::vector<mcp::Tool> tools_;
  std::string principal_;
};

constexpr seconds kMuchLessThanItsWhole{20};

TEST_F(HandOver, WaitingBeforeTheRunCounts) {
  const auto [run, took] = call("run_code", {{"code", sandbox::fake::kEndless}}, seconds(49));
  EXPECT_EQ(run["status"], "running");
  EXPECT_FALSE(run["run_id"].get<std::string>().empty());
  EXPECT_LT(took, kMuchLessThanItsWhole);
  EXPECT_GE(took, milliseconds(500)) << "there was a second left";
}

TEST_F(HandOver, ACallThatIsLateIsAnsweredAtOnce) {
  const auto [run, took] = call("run_code", {{"code", sandbox::fake::kEndless}}, seconds(300));
  EXPECT_EQ(run["status"], "running");
  EXPECT_LT(took, kMuchLessThanItsWhole);
}

TEST_F(HandOver, WaitingForARunIsBoundedAlike) {
  const auto [run, first] = call("run_code", {{"code", sandbox::fake::kEndless}}, seconds(50));
  const auto [again, took] =
      call("get_run", {{"run_id", run["run_id"]}, {"wait_seconds", 50}}, seconds(49));
  EXPECT_EQ(again["status"], "running");
  EXPECT_LT(took, kMuchLessThanItsWhole);
}

}  // namespace
