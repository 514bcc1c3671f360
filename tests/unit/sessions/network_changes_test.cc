// A change of a session's network is written down where it holds, and nowhere else.
#include "sessions/audit_table.h"
#include "sessions/network_changes.h"
#include "sessions/network_table.h"
#include "sessions/past_table.h"
#include "sessions/session_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sessions/store.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;

class NetworkChangesTest : public testing::ServicesFixture {
 protected:
  NetworkChangesTest() {
    config_.network.hosts = {host("api.example.com"), host("www.example.com")};
  }

  static sandbox::NetworkRule host(const std::string& text) {
    return sandbox::parse_network_rule(text).value();
  }
  base::Result<std::string> allow(const Session& session, bool take_back = false) {
    return parts().network_changes.allow(session, {host("extra.example.com")}, take_back);
  }
  base::Status change(const Session& session, const std::string& to) {
    NetworkWish wish;
    wish.allow = {to};
    return parts().network_changes.change(session, wish);
  }
  std::vector<std::string> granted(const Session& session) {
    return store_->network.grants(session.id).value();
  }
  std::ptrdiff_t audited(const Session& session, const std::string& action) {
    const auto audit = store_->audit.of_session(session.id, 100).value();
    return std::count_if(audit.begin(), audit.end(),
                         [&](const AuditEntry& entry) { return entry.action == action; });
  }
};

TEST_F(NetworkChangesTest, AHostIsAllowedThoughNothingRuns) {
  const Session session = kept();
  EXPECT_EQ(allow(session).value(), "nothing of it runs now");
  EXPECT_EQ(granted(session), std::vector<std::string>{"extra.example.com"});
  EXPECT_EQ(audited(session, "network_allowed"), 1);
  EXPECT_EQ(calls("start"), 0);
}

TEST_F(NetworkChangesTest, ASessionThatIsDeletedMeanwhileIsGivenNothing) {
  const Session seen = kept();
  ASSERT_TRUE(parts().sessions.destroy(principal_, seen.id).ok());
  EXPECT_EQ(allow(seen).error().kind, Kind::kNotFound);
  // Another process has looked before it was deleted.
  EXPECT_TRUE(store_->network.set_grant(seen.id, "extra.example.com", true, 1).ok());
  EXPECT_TRUE(granted(seen).empty());
  EXPECT_TRUE(store_->past.forget_some_of(seen.id).value());
}

TEST_F(NetworkChangesTest, AHostHoldsAtOnceUntilItIsTakenBack) {
  const Session session = running();
  EXPECT_EQ(allow(session).value(), "");
  EXPECT_EQ(allow(session, true).value(), "");
  EXPECT_EQ(calls("allow"), 2);
  EXPECT_TRUE(granted(session).empty());
  EXPECT_EQ(audited(session, "network_taken_back"), 1);
}

TEST_F(NetworkChangesTest, ABoxThatCannotLeavesItToTheNextAndSaysWhy) {
  const Session session = running();
  fail_call("allow", Kind::kUnsupported);
  EXPECT_EQ(allow(session).value(), "it is allow");
  EXPECT_EQ(granted(session).size(), 1U);
  fail_call("allow", Kind::kUnavailable);
  EXPECT_EQ(allow(session).error().kind, Kind::kUnavailable) << "nobody knows whether it holds";
  fail_call("find", Kind::kUnavailable);
  EXPECT_EQ(allow(session).error().kind, Kind::kUnavailable);
}

TEST_F(NetworkChangesTest, NothingIsAllowedADeletedSessionNorMoreThanOneCanHave) {
  const Session session = kept();
  std::vector<sandbox::NetworkRule> many;
  for (std::size_t i = 0; i <= sandbox::kNetworkRulesMax; ++i) {
    many.push_back(host("h" + std::to_string(i) + ".example.com"));
  }
  EXPECT_EQ(parts().network_changes.allow(session, many, false).error().kind, Kind::kLimit);
  EXPECT_TRUE(granted(session).empty());
  ASSERT_TRUE(store_->sessions.set_status(session.id, SessionStatus::kDestroyed, "").value());
  EXPECT_EQ(allow(row_of(session)).error().kind, Kind::kNotFound);
  EXPECT_TRUE(granted(session).empty());
}

TEST_F(NetworkChangesTest, AnotherChoiceIsTheRowsOnceTheBoxHasIt) {
  const Session session = running();
  ASSERT_TRUE(change(session, "api.example.com").ok());
  EXPECT_EQ(calls("set_network"), 1);
  EXPECT_EQ(row_of(session).network->allow, std::vector<std::string>{"api.example.com"});
  for (const auto kind : {Kind::kUnsupported, Kind::kUnavailable}) {
    fail_call("set_network", kind);
    EXPECT_EQ(change(session, "www.example.com").error().kind, kind);
    EXPECT_EQ(row_of(session).network->allow, std::vector<std::string>{"api.example.com"});
  }
  EXPECT_EQ(audited(session, "network_changed"), 1);
  answer_with({});
  EXPECT_TRUE(parts().network_changes.change(session, {}).ok());
  EXPECT_FALSE(row_of(session).network) << "it has what is granted unasked";
}

TEST_F(NetworkChangesTest, WhatIsNotGrantedIsRefusedBeforeABoxIsAsked) {
  const Session session = running();
  EXPECT_EQ(change(session, "not.granted.example").error().kind, Kind::kInvalid);
  EXPECT_EQ(calls("set_network"), 0);
  EXPECT_FALSE(row_of(session).network);
}

TEST_F(NetworkChangesTest, ABoxThatDoesNotAnswerIsNotTakenForNone) {
  const Session session = kept();
  fail_call("find", Kind::kUnavailable);
  EXPECT_EQ(change(session, "api.example.com").error().kind, Kind::kUnavailable);
  EXPECT_FALSE(row_of(session).network);
  answer_with({});
  EXPECT_TRUE(change(session, "api.example.com").ok());
  EXPECT_TRUE(row_of(session).network);
  ASSERT_TRUE(store_->sessions.set_status(session.id, SessionStatus::kDestroyed, "").value());
  EXPECT_EQ(change(session, "www.example.com").error().kind, Kind::kNotFound)
      << "whatever the caller has seen";
}

}  // namespace
}  // namespace sessions
