// Advice with a run holds on the server that answers: it is no way that is closed, and the caller's
// own where there is one.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "sandbox/box/ending.h"
#include "sandbox/box/remarks.h"
#include "sandbox/egress/session_advice.h"
#include "tools/mcp/advice.h"

namespace {

using sandbox::Cause;
using Record = sandbox::Run;

sessions::GrantedNetwork granted_network() {
  sessions::GrantedNetwork network;
  network.hosts = {sandbox::parse_network_rule("api.example.com").value()};
  network.sets["packages"] = {sandbox::parse_network_rule("pypi.org").value()};
  return network;
}

class AdviceTest : public ::testing::Test {
 protected:
  AdviceTest() { facts_.most_limits = sandbox::widest_limits(); }

  // As a box has it.
  static Record timed_out(std::int64_t seconds, bool background = false) {
    Record run;
    run.background = background;
    run.timeout_seconds = seconds;
    sandbox::box::Observed observed;
    observed.stop_cause = Cause::kTimeout;
    observed.timeout_seconds = seconds;
    observed.background = background;
    observed.own_process = true;
    sandbox::box::end_by_exit(run, SIGKILL, observed);
    return run;
  }
  Record fitted(Record run) const {
    EXPECT_TRUE(tools::has_advice(run));
    tools::fit_advice(facts_, run);
    return run;
  }
  // As a box has it that met no network.
  Record fitted_without_network() const {
    Record run;
    run.error = sandbox::RunError{
        "gaierror", "Temporary failure in name resolution", "", Cause::kException, "", ""};
    sandbox::BoxSpec spec;
    spec.session_id = "session_a";
    sandbox::box::add_remarks(run, spec, "", "");
    return fitted(run);
  }
  std::string fitted_refusal(const std::string& host, const std::string& before = "") const {
    Record run;
    const std::string reason =
        before + std::string(sandbox::kNotAllowed) + sandbox::egress::advice_on("session_a", host);
    run.network.refused.push_back({host, reason});
    return fitted(run).network.refused.front().reason;
  }

  sessions::GrantedNetwork network_ = granted_network();
  tools::AdviceFacts facts_{.network = network_,
                            .command = "hutch --state-dir /srv/a",
                            .session_id = "session_a",
                            .limits = {},
                            .most_limits = {},
                            .longest_seconds = 4};
};

TEST_F(AdviceTest, ARunThatHadAllItsTimeIsNotToldToAskForMore) {
  EXPECT_EQ(fitted(timed_out(3)).error->message,
            "the run took longer than the 3 seconds that it had; give it more (timeout_seconds), "
            "or use background: true");
  facts_.limits.run_seconds = 4;
  EXPECT_EQ(fitted(timed_out(4)).error->message,
            "the run took longer than the 4 seconds that it had; limits.run_seconds is 4: use "
            "background: true");
  facts_.limits.run_seconds = 600;
  EXPECT_EQ(fitted(timed_out(4)).error->message,
            "the run took longer than the 4 seconds that it had; 4 is the most here: use "
            "background: true");
  EXPECT_EQ(fitted(timed_out(4, true)).error->message,
            "the run took longer than the 4 seconds that it had; leave timeout_seconds out: then "
            "it has no end");
}

TEST_F(AdviceTest, WithoutANetworkTheCallersOwnWayIsNamedWhereThereIsOne) {
  EXPECT_EQ(fitted_without_network().note,
            "this session has no network but its own loopback: trying again does not help. "
            "create_session's network.allow can have: packages, api.example.com; this session: "
            "hutch --state-dir /srv/a sessions allow session_a HOST");
  network_ = {};
  const std::string note = fitted_without_network().note;
  EXPECT_NE(note.find("Whoever runs hutch can allow it: hutch --state-dir /srv/a sessions allow "
                      "session_a HOST (at once), --allow HOST when it starts"),
            std::string::npos)
      << note;
  EXPECT_EQ(note.find("stdio"), std::string::npos) << note;
}

TEST_F(AdviceTest, WhatElseWasSaidStaysBeside) {
  Record run;
  run.note = "before; " + fitted_without_network().note + "; behind";
  sandbox::box::add_note(run, "x" + std::string(sandbox::kNoNetworkNote) +
                                  sandbox::egress::advice_on("session_a", "HOST"));
  const std::string note = fitted(run).note;
  EXPECT_TRUE(note.starts_with("before; ") && note.find("; behind") != std::string::npos) << note;
}

TEST_F(AdviceTest, ARefusedHostThatTheConfigurationAllowsIsOneToAskFor) {
  EXPECT_EQ(
      fitted_refusal("pypi.org"),
      "not allowed by this session's network policy: create_session with network {\"allow\": "
      "[\"packages\"]} has it; this session: hutch --state-dir /srv/a sessions allow session_a "
      "packages");
  EXPECT_NE(fitted_refusal("api.example.com:443").find("[\"api.example.com\"]"), std::string::npos);
  const std::string other = fitted_refusal("evil.example");
  EXPECT_NE(other.find("Whoever runs hutch can allow it: hutch --state-dir /srv/a sessions allow "
                       "session_a evil.example (at once)"),
            std::string::npos)
      << other;
  const std::string request = fitted_refusal("api.example.com", "GET /v2 of this host is ");
  EXPECT_EQ(request.find("create_session"), std::string::npos) << "the host is allowed already";
}

TEST_F(AdviceTest, WhoHasTheMostOfALimitIsNotSentForMore) {
  Record run;
  run.error = sandbox::RunError{"MemoryError", "MemoryError", "", Cause::kException, "", ""};
  sandbox::box::add_remarks(run, {}, "", "MemoryError\n");
  ASSERT_NE(run.note.find("(limits.memory_mb)"), std::string::npos) << run.note;
  EXPECT_EQ(fitted(run).note, run.note);
  facts_.limits.memory_mb = facts_.most_limits.memory_mb = 512;
  EXPECT_EQ(fitted(run).note,
            run.note + "; limits.memory_mb has its most here, 512: no other session has more");
}

TEST_F(AdviceTest, WhatNeedsNoneHasNone) {
  Record run;
  EXPECT_FALSE(tools::has_advice(run));
  run.error = sandbox::RunError{"ValueError", "bad", "", Cause::kException, "", ""};
  run.network.refused.push_back({"a.test", "the host of hutch finds no address for this name"});
  EXPECT_FALSE(tools::has_advice(run));
}

}  // namespace
