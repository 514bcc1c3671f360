// The audit: what was done comes back in its order, and with the words that say why.
#include "sessions/audit_table.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/random_id.h"
#include "sessions/share_table.h"
#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

using nlohmann::json;

class AuditTableTest : public testing::StoreFixture {
 protected:
  void add(const std::optional<std::string>& session_id, const std::string& action,
           std::int64_t at = 5) {
    ASSERT_TRUE(store_->audit.add({at, principal_, session_id, action}).ok());
  }
  std::vector<std::string> actions_of(const std::string& session_id, std::int64_t limit = 100) {
    std::vector<std::string> actions;
    for (const AuditEntry& entry : store_->audit.of_session(session_id, limit).value()) {
      actions.push_back(entry.action);
    }
    return actions;
  }
};

TEST_F(AuditTableTest, TheAuditSaysWhyAndWhat) {
  const Session made = created();
  ASSERT_TRUE(store_->sessions.set_status(made.id, SessionStatus::kReady, "").value());
  Share share;
  share.id = base::random_id("share_");
  share.session_id = made.id;
  share.principal_id = principal_;
  share.filename = "a\"b.csv";
  share.bytes = 7;
  share.sha256 = "abc";
  share.expires_at = 86'400'000;
  ASSERT_TRUE(store_->shares.insert(share).ok());
  ASSERT_TRUE(
      store_->sessions.set_status(made.id, SessionStatus::kDestroyed, "its time is over").value());
  std::vector<json> details;
  for (const AuditEntry& entry : store_->audit.of_session(made.id, 3).value()) {
    details.push_back(*entry.detail);
  }
  const json shared = {{"bytes", 7},
                       {"expires_at", "1970-01-02T00:00:00.000Z"},
                       {"filename", "a\"b.csv"},
                       {"sha256", "abc"},
                       {"share", share.id}};
  const json reason = {{"reason", "its time is over"}};
  EXPECT_EQ(details, (std::vector<json>{json::object(), shared, reason}));
  EXPECT_EQ(store_->audit.of_session(made.id, 1).value()[0].action, "session_destroyed");
}

TEST_F(AuditTableTest, AnEntryComesBackAsItWent) {
  ASSERT_TRUE(store_->audit.add({7, "nobody", "gone", "network_allowed", json{{"a", "b"}}}).ok());
  const auto entries = store_->audit.of_session("gone", 10).value();
  ASSERT_EQ(entries.size(), 1U) << "neither principal nor session is looked for";
  EXPECT_EQ(entries[0].at, 7);
  EXPECT_EQ(entries[0].principal_id, "nobody");
  EXPECT_EQ(entries[0].session_id, "gone");
  EXPECT_EQ(entries[0].action, "network_allowed");
  EXPECT_EQ(*entries[0].detail, json({{"a", "b"}}));
}

TEST_F(AuditTableTest, WhatIsNoJsonIsLeftOut) {
  add("s", "whole");
  execute("UPDATE audit SET detail = '{\"a\":' WHERE session_id = 's'");
  const auto entries = store_->audit.of_session("s", 10).value();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(*entries[0].detail, json::object());
}

TEST_F(AuditTableTest, TheLastOnesComeInTheOrderInWhichTheyWereWritten) {
  EXPECT_TRUE(actions_of("s").empty());
  add("s", "first", 9);
  add("s", "second", 1);  // a clock that was put back
  add("s", "third", 1);
  EXPECT_EQ(actions_of("s"), (std::vector<std::string>{"first", "second", "third"}));
  EXPECT_EQ(actions_of("s", 2), (std::vector<std::string>{"second", "third"}));
  EXPECT_TRUE(actions_of("s", 0).empty());
}

TEST_F(AuditTableTest, ASessionHasNothingOfOthersNorOfNone) {
  add("s", "its");
  add("other", "another");
  add(std::nullopt, "create_token");
  EXPECT_EQ(actions_of("s"), std::vector<std::string>{"its"});
  EXPECT_TRUE(actions_of("").empty());
  EXPECT_EQ(number_of("SELECT count(*) FROM audit WHERE session_id IS NULL"), 1);
}

}  // namespace
}  // namespace sessions
