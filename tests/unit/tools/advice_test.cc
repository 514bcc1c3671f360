// Advice with a run holds on the server that answers: it is no way that is closed, and the caller's
// own where there is one.
#include <gtest/gtest.h>

#include <string>

#include "sandbox/box/remarks.h"
#include "sandbox/egress/session_advice.h"
#include "tools/advice.h"

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
    sandbox::box::add_remarks(run, spec, {}, "", "");
    return fitted(run);
  }
  std::string fitted_refusal(const std::string& host, bool host_is_allowed = false) const {
    Record run;
    const std::string reason = (host_is_allowed ? "GET /v2 of this host is " : "") +
                               std::string(sandbox::egress::kNotAllowed);
    const std::string rule = host.substr(0, host.find(":443"));
    run.network.refused.push_back({host, reason, rule, host_is_allowed});
    return fitted(run).network.refused.front().reason;
  }

  sessions::GrantedNetwork network_ = granted_network();
  tools::AdviceFacts facts_{.network = network_,
                            .command = "hutch --state-dir /srv/a",
                            .session_id = "session_a",
                            .limits = sandbox::Limits(),
                            .most_limits = {}};
};

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
  run.note = "before" + sandbox::egress::advice_on("session_a", "HOST");
  run.lacks_network = true;
  const std::string note = fitted(run).note;
  EXPECT_TRUE(note.starts_with(run.note + "; this session has no network")) << note;
  EXPECT_NE(note.find("; this session: hutch --state-dir /srv/a"), std::string::npos) << note;
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
  const std::string request = fitted_refusal("api.example.com", true);
  EXPECT_EQ(request.find("create_session"), std::string::npos) << "the host is allowed already";
  EXPECT_NE(request.find("/srv/a sessions allow session_a api.example.com (at once)"),
            std::string::npos)
      << request;
}

TEST_F(AdviceTest, WhoHasTheMostOfALimitIsNotSentForMore) {
  Record run;
  run.error = sandbox::RunError{"MemoryError", "MemoryError", "", Cause::kException, "", ""};
  sandbox::box::add_remarks(run, {}, {}, "", "MemoryError\n");
  ASSERT_NE(run.note.find("(limits.memory_mb)"), std::string::npos) << run.note;
  EXPECT_EQ(fitted(run).note, run.note);
  facts_.limits->memory_mb = facts_.most_limits.memory_mb = 512;
  EXPECT_EQ(fitted(run).note,
            run.note + "; limits.memory_mb has its most here, 512: no other session has more");
  facts_.limits.reset();
  EXPECT_EQ(fitted(run).note, run.note) << "nobody knows what it has";
}

TEST_F(AdviceTest, WordsThatOnlyLookLikeAdviceAreLeftAlone) {
  facts_.most_limits = *facts_.limits;
  Record run;
  run.error = sandbox::RunError{
      "ValueError", "create_session with more (limits.memory_mb)", "", Cause::kException, "", ""};
  run.note = "create_session with more (limits.memory_mb)";
  run.network.refused.push_back(
      {"pypi.org", std::string(sandbox::egress::kNotAllowed) +
                       sandbox::egress::advice_on("session_a", "pypi.org")});
  EXPECT_FALSE(tools::has_advice(run));
  Record same = run;
  tools::fit_advice(facts_, same);
  EXPECT_EQ(same.note, run.note);
  EXPECT_EQ(same.error->message, run.error->message);
  EXPECT_EQ(same.network.refused.front().reason, run.network.refused.front().reason);
}

TEST_F(AdviceTest, FoldersToAskForAreNamedWhereOneIsLacking) {
  sessions::GrantedFolders folders;
  sandbox::HostFolder own;
  own.name = "own";
  own.path = "/srv/own";
  folders.all.push_back(own);
  const auto said = [&folders](base::Error::Lack lack) {
    base::Error error = base::error(base::Error::Kind::kNotFound, "none (--mount NAME=PATH)");
    error.lack = lack;
    return tools::with_own_way(error, folders).message;
  };
  EXPECT_EQ(said(base::Error::Lack::kHostFolder),
            "none (--mount NAME=PATH); create_session's filesystem can have: /mnt/own (read-only)");
  EXPECT_EQ(said(base::Error::Lack::kNothing), "none (--mount NAME=PATH)");
  folders.unasked = true;
  EXPECT_EQ(said(base::Error::Lack::kHostFolder), "none (--mount NAME=PATH)");
}

TEST_F(AdviceTest, WhatNeedsNoneHasNone) {
  Record run;
  EXPECT_FALSE(tools::has_advice(run));
  run.error = sandbox::RunError{"ValueError", "bad", "", Cause::kException, "", ""};
  run.network.refused.push_back({"a.test", "the host of hutch finds no address for this name"});
  EXPECT_FALSE(tools::has_advice(run));
}

}  // namespace
