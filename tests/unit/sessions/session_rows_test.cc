// Columns of a session's row: what is written is read, what is damaged is named and stays as a new
// session has it, and a principal hears of bounds in words that say what to do.
#include "sessions/session_rows.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sandbox/address_range.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

class SessionRowsTest : public testing::StoreFixture {
 protected:
  using Kind = base::Error::Kind;

  // Reads the row of a session, once `change`, if any, has been made to it.
  Session read(const Session& made, const std::string& change = "") {
    if (!change.empty()) execute("UPDATE sessions SET " + change + " WHERE id = '" + made.id + "'");
    Statement row =
        database_->prepare("SELECT " SESSION_COLUMNS " FROM sessions WHERE id = ?").value();
    EXPECT_TRUE(row.bind(made.id).step().value());
    return read_session(row);
  }

  const std::unique_ptr<Database> database_ = Database::open(path()).value();
};

TEST_F(SessionRowsTest, ChoicesThatWereNotMadeAreNoText) {
  Session plain;
  EXPECT_EQ(folders_text(plain), std::nullopt);
  EXPECT_EQ(paths_text(plain), std::nullopt);
  EXPECT_EQ(network_text(plain.network), std::nullopt);
  EXPECT_EQ(isolation_text(plain.isolation), std::nullopt);
  EXPECT_EQ(strings_text({}), "{}");
  plain.host_folders.emplace();
  EXPECT_EQ(folders_text(plain), "[]") << "no folder is a choice";
}

TEST_F(SessionRowsTest, TextsAreReadAsTheyWereWritten) {
  const Session made = created_as([](Session& wanted) {
    wanted.limits.memory_mb = 321;
    wanted.env = {{"A", "1\n\"2\""}};
    wanted.metadata = {{"k", "v"}};
    wanted.host_folders = {{.name = "docs", .path = "/docs", .writable = true, .blocked = {"a/b"}}};
    wanted.paths.read_only = {"/workspace/in"};
    wanted.network = NetworkChoice{
        {"example.org"}, {"key"}, {sandbox::parse_address_range("10.0.0.0/8").value()}};
  });
  const Session found = read(made);
  EXPECT_EQ(found.unreadable, std::nullopt);
  EXPECT_EQ(found.limits.memory_mb, 321);
  EXPECT_EQ(found.env, made.env);
  EXPECT_EQ(found.metadata, made.metadata);
  EXPECT_EQ(found.host_folders, made.host_folders);
  EXPECT_EQ(found.paths, made.paths);
  EXPECT_EQ(found.network, made.network);
}

TEST_F(SessionRowsTest, LimitsThatAnOlderHutchLeftOutHaveTheirDefaults) {
  const Session found = read(created(), R"(limits = '{"memory_mb": 300}')");
  EXPECT_EQ(found.unreadable, std::nullopt);
  EXPECT_EQ(found.limits.memory_mb, 300);
  EXPECT_EQ(found.limits.processes, sandbox::Limits().processes);
}

TEST_F(SessionRowsTest, ADamagedColumnIsNamedAndTheOthersAreRead) {
  for (const auto& [column, text] :
       std::map<std::string, std::string>{{"limits", R"({"memory_mb": "much"})"},
                                          {"env", R"({"A": 1})"},
                                          {"metadata", "[]"},
                                          {"host_folders", R"([{"name": 5}])"},
                                          {"network", R"({"allow": [7]})"},
                                          {"paths", R"({"read_only": "no array"})"}}) {
    const Session found = read(created(), column + " = '" + text + "'");
    ASSERT_TRUE(found.unreadable) << column;
    EXPECT_TRUE(found.unreadable->starts_with("sessions." + column + " ")) << *found.unreadable;
    EXPECT_EQ(found.principal_id, principal_);
    EXPECT_EQ(found.status, SessionStatus::kProvisioning);
  }
}

TEST_F(SessionRowsTest, WhatNothingDependsOnIsNoDamage) {
  const Session found = read(created(), "isolation = '['");
  EXPECT_EQ(found.unreadable, std::nullopt);
  EXPECT_EQ(found.isolation, std::nullopt);
}

TEST_F(SessionRowsTest, BoxesAndSessionsAreBoundedEach) {
  (void)created_as([](Session& wanted) { wanted.status = SessionStatus::kReady; });
  (void)created_as([](Session& wanted) { wanted.status = SessionStatus::kStopped; });
  destroy(created());
  (void)created_by("another");
  EXPECT_TRUE(check_boxes(*database_, principal_, 2).ok());
  const auto full = check_boxes(*database_, principal_, 1);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().kind, Kind::kLimit);
  EXPECT_TRUE(full.error().message.starts_with("there is 1 session already"));
  SessionBounds bounds(2, 3);
  EXPECT_TRUE(check_room(*database_, principal_, bounds).ok());
  bounds.kept_max = 2;
  const auto kept = check_room(*database_, principal_, bounds);
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().kind, Kind::kLimit);
  EXPECT_TRUE(kept.error().message.starts_with("there are 2 sessions kept already"));
}

TEST_F(SessionRowsTest, ANameThatIsTakenIsTheOnlyRefusalThatIsReworded) {
  const auto refusal = base::error(Kind::kConflict, "UNIQUE constraint failed");
  EXPECT_NE(why_refused(refusal, session("mine")).message.find("named \"mine\""),
            std::string::npos);
  EXPECT_EQ(why_refused(refusal, session()).message, refusal.message);
  const auto other = base::error(Kind::kLimit, "full");
  EXPECT_EQ(why_refused(other, session("mine")).message, "full");
}

}  // namespace
}  // namespace sessions
