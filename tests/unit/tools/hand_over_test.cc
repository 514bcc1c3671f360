// A call is answered before its client gives up, counted from when it came.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <regex>
#include <sstream>

#include <nlohmann/json.hpp>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "sessions/principal_table.h"
#include "sessions/store.h"
#include "tests/unit/tools/caller.h"
#include "tests/unit/tools/tools_fixture.h"

namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

class HandOver : public tools::fake::ToolsFixture {
 protected:
  HandOver() : principal_(store_->principals.ensure("p").value()) {}

  // The result of a call that came `age` ago, and how long it took from now.
  std::pair<json, milliseconds> call(const std::string& tool, const json& arguments, seconds age) {
    tools::fake::Caller caller(principal_, "connection");
    caller.set_age(age);
    const auto started = Clock::now();
    const auto outcome = tools_.at(tool).call(arguments, caller);
    return {std::get<mcp::ToolResult>(outcome).structured_content,
            std::chrono::duration_cast<milliseconds>(Clock::now() - started)};
  }

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

// The lines of the log that tools write while this is there.
class LinesOfLog {
 public:
  LinesOfLog() {
    const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
    const auto logger = std::make_shared<spdlog::logger>("test", sink);
    logger->set_level(spdlog::level::info);
    spdlog::set_default_logger(logger);
  }
  ~LinesOfLog() { spdlog::set_default_logger(before_); }
  LinesOfLog(const LinesOfLog&) = delete;
  LinesOfLog& operator=(const LinesOfLog&) = delete;

  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream text_;
};

TEST_F(HandOver, TheLogHasAllTheTimeOfACall) {
  const LinesOfLog lines;
  (void)call("list_sessions", json::object(), seconds(7));
  (void)call("get_run", {{"run_id", "run_none"}}, seconds(8));
  static const std::regex kTook("tool list_sessions 7[0-9]{3} ms\n[^]*tool get_run 8[0-9]{3} ms: ");
  EXPECT_TRUE(std::regex_search(lines.text(), kTook)) << lines.text();
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
