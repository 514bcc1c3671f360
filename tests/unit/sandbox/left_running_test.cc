// Processes that a run has left are data, and words for whoever reads of it.
#include "sandbox/left_running.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "base/random_id.h"
#include "sandbox/run.h"

namespace {

using nlohmann::json;
using sandbox::LeftRunning;

LeftRunning of_two() { return {.processes = {{{3}, "sleep 1"}, {{4}, "sleep (pid x)"}}}; }

std::string told(LeftRunning left, const std::set<pid_t>& living) {
  leave_out_ended(left, [&living](pid_t pid) { return living.contains(pid); });
  return in_words(left);
}

TEST(LeftRunning, NamesWhatLives) {
  EXPECT_EQ(told(of_two(), {3, 4}),
            "left running by this run: sleep 1 (pid 3), sleep (pid x) (pid 4); kill PID ends it");
  EXPECT_EQ(told(of_two(), {3}), "left running by this run: sleep 1 (pid 3); kill PID ends it");
  EXPECT_EQ(told(of_two(), {4}),
            "left running by this run: sleep (pid x) (pid 4); kill PID ends it");
  EXPECT_EQ(told(of_two(), {}), "");
  LeftRunning printing = of_two();
  printing.may_print = true;
  EXPECT_EQ(told(printing, {3}),
            "left running by this run: sleep 1 (pid 3); kill PID ends it; get_run of this run has "
            "what it prints later");
}

TEST(LeftRunning, KeepsThemWhereOthersAreOnlyCounted) {
  LeftRunning many{.processes = {{{3, 5}, "a"}, {{4}, "b"}}, .more = 2};
  const std::string how =
      ", and 2 more; kill with all its PIDs ends one, kill -9 -1 in bash all, interpreters with "
      "their variables too";
  EXPECT_EQ(told(many, {5}), "left running by this run: a (pids 3 5)" + how);
  EXPECT_EQ(told(many, {}), "left running by this run: a (pids 3 5), b (pid 4)" + how);
}

TEST(LeftRunning, SaysHowAnInterpreterEndsThem) {
  LeftRunning left{.processes = {{{4}, "b"}}, .of_earlier_run = true, .has_objects = true};
  EXPECT_EQ(in_words(left),
            "left running by an earlier run: b (pid 4); kill PID (or the object's terminate()) "
            "ends it");
}

TEST(LeftRunning, ComesBackFromARecord) {
  sandbox::Run run;
  run.run_id = base::short_id("run_");
  LeftRunning left = of_two();
  left.more = 7;
  left.may_print = true;
  run.left_running = {left, {.processes = {{{9}, "c"}}, .has_objects = true}};
  const auto back = run_from_json(run_to_json(run));
  ASSERT_TRUE(back.ok()) << back.error().message;
  ASSERT_EQ(back.value().left_running.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(in_words(back.value().left_running[i]), in_words(run.left_running[i]));
  }
}

TEST(LeftRunning, TakesNothingElseFromABox) {
  for (const json& value :
       {json(), json("text"), json{{"processes", 3}}, json{{"processes", {3, "x", json::array()}}},
        json{{"processes", {{{"pids", "3"}}, {{"pids", {0, -1, 1e300, 1LL << 40, "3"}}}}}},
        json{{"processes", {{{"pids", {3}}, {"command", std::string(1000, 'x')}}}}}}) {
    EXPECT_TRUE(sandbox::left_running_from_json(value).empty()) << value;
  }
  json many = {{"processes", json::array()}, {"more", -1}};
  for (int i = 1; i <= 100; ++i) {
    many["processes"].push_back({{"pids", std::vector<int>(100, i)}, {"command", "x"}});
  }
  const LeftRunning left = sandbox::left_running_from_json(many);
  ASSERT_EQ(left.processes.size(), LeftRunning::kProcessesMax);
  EXPECT_EQ(left.processes.front().pids.size(), LeftRunning::kPidsMax);
  EXPECT_EQ(left.more, 0);
}

}  // namespace
