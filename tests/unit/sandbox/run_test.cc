// Runs, requests, limits: what crosses the border as JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random_id.h"
#include "sandbox/box_spec.h"
#include "sandbox/host_limits.h"
#include "sandbox/run.h"

namespace {

using namespace sandbox;
using nlohmann::json;

const std::string kRunId = "run_" + std::string(32, 'a');

Run full_run() {
  sandbox::Run run;
  run.run_id = kRunId;
  run.language = Language::kSql;
  run.status = RunStatus::kFailed;
  run.background = true;
  run.queued_at_ms = 1;
  run.started_at_ms = 2;
  run.finished_at_ms = 3;
  run.duration_ms = 4;
  run.exit_code = 5;
  run.stdout_bytes = 6;
  run.stderr_bytes = 7;
  run.image_count = 8;
  run.outputs = json::array({{{"is_main_result", true}, {"formats", {"text"}}, {"text", "4"}}});
  run.error = RunError{"Name", "message", "trace", Cause::kOom, "kept", "lost"};
  run.files_changed = {{"/workspace/a", "created", 9}};
  run.note = "note";
  run.outputs_dropped = true;
  run.lacks_network = true;
  run.short_of = {"memory_mb", "files"};
  run.network.refused = {{"a.test:443", "not allowed", "a.test", true}, {"b.test:80", "no"}};
  return run;
}

TEST(Run, WithoutResultsItIsTheSameRunAndSmall) {
  sandbox::Run run = full_run();
  run.status = RunStatus::kRunning;
  run.outputs.assign(100'000,
                     json{{"is_main_result", false}, {"formats", {"text"}}, {"text", "4"}});
  const json value = run_to_json(without_results(run));
  EXPECT_LT(value.dump().size(), 500U);
  const auto again = run_from_json(value);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().run_id, kRunId);
  EXPECT_EQ(again.value().language, Language::kSql);
  EXPECT_EQ(again.value().status, RunStatus::kRunning);
  EXPECT_TRUE(again.value().background);
}

TEST(Run, RoundTripKeepsEverything) {
  const json value = run_to_json(full_run());
  const auto again = run_from_json(value);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(run_to_json(again.value()), value);
  EXPECT_EQ(again.value().error->cause, Cause::kOom);
  EXPECT_EQ(again.value().files_changed.at(0).bytes, 9);
  EXPECT_TRUE(again.value().outputs_dropped);
  json of_an_older_build = value;
  of_an_older_build.erase("outputs_dropped");
  EXPECT_FALSE(run_from_json(of_an_older_build).value().outputs_dropped);
  EXPECT_TRUE(again.value().lacks_network);
  EXPECT_EQ(again.value().short_of, (std::vector<std::string>{"memory_mb", "files"}));
  const NetworkUse::Refusal& refusal = again.value().network.refused.at(0);
  EXPECT_EQ(refusal.missing_rule, "a.test");
  EXPECT_TRUE(refusal.host_is_allowed);
  EXPECT_EQ(again.value().network.refused.at(1).missing_rule, "");
}

TEST(Run, HostileJsonIsRefusedOrTamed) {
  for (const char* key : {"run_id", "language", "status"}) {
    json value = run_to_json(full_run());
    value[key] = 5;
    EXPECT_FALSE(run_from_json(value).ok()) << key;
    value.erase(key);
    EXPECT_FALSE(run_from_json(value).ok()) << key;
  }
  json value = run_to_json(full_run());
  value["run_id"] = "run_../../../etc/passwd0000000000000";
  EXPECT_FALSE(run_from_json(value).ok());
  value = run_to_json(full_run());
  value["error"]["cause"] = "nonsense";
  EXPECT_FALSE(run_from_json(value).ok());
  value = run_to_json(full_run());
  const json bad_outputs[] = {"text",
                              json::array({7}),
                              {{{"is_main_result", "yes"}, {"formats", json::array()}}},
                              {{{"is_main_result", true}, {"formats", {1}}}},
                              {{{"is_main_result", true}, {"formats", {"text"}}, {"text", 5}}},
                              {{{"is_main_result", true}, {"formats", {"x"}}, {"more", 1}}}};
  for (const json& outputs : bad_outputs) {
    value["outputs"] = outputs;
    EXPECT_FALSE(run_from_json(value).ok()) << outputs;
  }
  EXPECT_FALSE(run_from_json(json::array()).ok());
  EXPECT_FALSE(run_from_json(json()).ok());
}

TEST(Run, NamesFindTheirValues) {
  for (const char* name : {"python", "javascript", "typescript", "sql", "bash"}) {
    ASSERT_TRUE(find_language(name)) << name;
    EXPECT_STREQ(name_of(*find_language(name)), name);
  }
  for (const char* name : {"queued", "running", "completed", "failed", "timed_out", "cancelled"}) {
    EXPECT_STREQ(name_of(*find_run_status(name)), name);
  }
  for (const char* name : {"exception", "exit", "signal", "timeout", "cancelled", "oom", "pids",
                           "disk", "output", "interpreter_died", "sandbox_lost"}) {
    EXPECT_STREQ(name_of(*find_cause(name)), name);
  }
  EXPECT_FALSE(find_language("ruby"));
  EXPECT_FALSE(find_run_status(""));
}

TEST(RunRequest, RoundTripAndBounds) {
  RunRequest request;
  request.run_id = kRunId;
  request.language = Language::kBash;
  request.code = std::string("a\0b", 3);
  request.timeout_seconds = 600;
  request.background = true;
  request.env = {{"A", "b=c"}};
  const auto again = request_from_json(request_to_json(request));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().code, request.code);
  EXPECT_EQ(again.value().env, request.env);
  json value = request_to_json(request);
  value["timeout_seconds"] = 601;
  EXPECT_FALSE(request_from_json(value).ok());
  value["timeout_seconds"] = -1;
  EXPECT_FALSE(request_from_json(value).ok());
  value = request_to_json(request);
  value["env"] = {{"A", 1}};
  EXPECT_FALSE(request_from_json(value).ok());
}

TEST(Limits, DefaultsAreTheContract) {
  const Limits limits;
  EXPECT_EQ(limits_to_json(limits), (json{{"memory_mb", 2048},
                                          {"cpus", 2},
                                          {"processes", 256},
                                          {"disk_mb", 10240},
                                          {"files", 200000},
                                          {"open_files", 1024},
                                          {"run_seconds", 120},
                                          {"output_mb", 64}}));
}

TEST(Limits, OutOfRangeNamesTheRange) {
  Limits most;
  most.memory_mb = 2048;
  const auto result = limits_from_json({{"memory_mb", 4096}}, Limits(), most);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message,
            "limit memory_mb must be a whole number from 64 to 2048; memory_mb in [max_limits] of "
            "the configuration allows more");
  EXPECT_FALSE(limits_from_json({{"memory_mb", 1}}, Limits(), most).ok());
  EXPECT_FALSE(limits_from_json({{"memory_mb", "1024"}}, Limits(), most).ok());
  EXPECT_FALSE(limits_from_json({{"memory_mb", 100.5}}, Limits(), most).ok());
  EXPECT_FALSE(limits_from_json(json::array(), Limits(), most).ok());
}

TEST(Limits, ProcessesAreAtMostAQuarterOfTheHostsNumbers) {
  const LimitRow row{"processes", &Limits::processes, 8, 32768};
  EXPECT_EQ(most_processes("32768\n", row), 8192);
  EXPECT_EQ(most_processes("4194304\n", row), 32768);
  EXPECT_EQ(most_processes("16\n", row), 8);
  EXPECT_EQ(most_processes("", row), 32768);
  Limits most;
  most.processes = most_of_host(row);
  if (most.processes == row.most) GTEST_SKIP() << "this host has numbers enough";
  const auto result = limits_from_json({{"processes", 32768}}, Limits(), most);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "limit processes must be a whole number from 8 to " +
                                        std::to_string(most.processes) +
                                        "; a session gets no more than a quarter of the host's "
                                        "kernel.pid_max");
}

TEST(Limits, UnknownNamesAreRefusedWithTheKnown) {
  const auto result = limits_from_json({{"memory", 100}}, Limits(), Limits());
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("memory_mb, cpus"), std::string::npos);
}

TEST(Limits, AbsentMembersKeepTheirDefault) {
  const auto result = limits_from_json({{"cpus", 1}}, Limits(), Limits());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().cpus, 1);
  EXPECT_EQ(result.value().memory_mb, 2048);
  EXPECT_TRUE(limits_from_json(json(), Limits(), Limits()).ok());
}

TEST(BoxSpec, RoundTrip) {
  BoxSpec spec;
  spec.session_id = "s";
  spec.session_directory = "/d";
  spec.program_directory = "/p";
  spec.data_directory = "/x";
  spec.env = {{"K", "v"}};
  spec.host_uid = 1'900'000'007;
  spec.ends_in_ms = 99;
  spec.limits.cpus = 1;
  spec.ahead = {Language::kPython, Language::kBash};
  const auto again = spec_from_json(spec_to_json(spec));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(spec_to_json(again.value()), spec_to_json(spec));
  json value = spec_to_json(spec);
  value.erase("session_directory");
  EXPECT_FALSE(spec_from_json(value).ok());
}

TEST(ShortId, HasThePrefixAndDiffersAndOlderOnesAreStillIds) {
  const std::string id = base::short_id("run_");
  EXPECT_EQ(id.size(), std::string("run_").size() + 12);
  EXPECT_NE(id, base::short_id("run_"));
  EXPECT_TRUE(base::is_short_id(id, "run_"));
  EXPECT_TRUE(base::is_short_id(base::random_id("run_"), "run_"));
  EXPECT_FALSE(base::is_random_id(id, "run_"));
  for (const char* other : {"run_", "run_0123456789a", "run_0123456789abc", "run_01234567/9ab",
                            "run_0123456789aB", "run_0123456789al", "session_0123456789ab"}) {
    EXPECT_FALSE(base::is_short_id(other, "run_")) << other;
  }
}

TEST(RandomId, HasThePrefixAndDiffers) {
  const std::string a = base::random_id("run_");
  EXPECT_TRUE(base::is_random_id(a, "run_"));
  EXPECT_NE(a, base::random_id("run_"));
  EXPECT_FALSE(base::is_random_id(a, "session_"));
  EXPECT_FALSE(base::is_random_id(a + "0", "run_"));
  EXPECT_FALSE(base::is_random_id("run_" + std::string(31, 'a') + "/", "run_"));
  EXPECT_FALSE(base::is_random_id("run_" + std::string(31, 'a') + "A", "run_"));
}

}  // namespace
