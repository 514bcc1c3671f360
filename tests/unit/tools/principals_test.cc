// Every tool, for two principals: what belongs to one does not exist for the other.
#include <gtest/gtest.h>

#include <set>

#include <nlohmann/json.hpp>

#include "base/random_id.h"
#include "sessions/principal_table.h"
#include "sessions/run_table.h"
#include "sessions/session_lists.h"
#include "sessions/share_table.h"
#include "sessions/store.h"
#include "tests/unit/tools/caller.h"
#include "tests/unit/tools/tools_fixture.h"
#include "tools/scopes.h"

namespace {

using namespace tools;
using nlohmann::json;
using tools::fake::Caller;

struct Ids {
  std::string session;
  std::string run;
};

// Each tool with everything in its arguments that names something, harmless ones first.
std::vector<std::pair<std::string, json>> uses_of(const Ids& ids) {
  return {
      {"get_run", {{"run_id", ids.run}}},
      {"read_file", {{"path", "kept"}, {"session_id", ids.session}}},
      {"get_run", {{"session_id", ids.session}}},
      {"edit_file",
       {{"path", "kept"}, {"old_text", "secret"}, {"new_text", "x"}, {"session_id", ids.session}}},
      {"list_files", {{"session_id", ids.session}}},
      {"list_files", {{"session_id", ids.session}, {"changed_since", ids.run}}},
      {"share_file", {{"path", "kept"}, {"session_id", ids.session}}},
      {"share_port", {{"port", 3000}, {"session_id", ids.session}}},
      {"run_code", {{"code", "1"}, {"session_id", ids.session}}},
      {"run_code", {{"code", "1"}, {"session_id", ids.session}, {"background", true}}},
      {"write_file", {{"path", "new"}, {"content", "x"}, {"session_id", ids.session}}},
      {"install_packages", {{"packages", {"six"}}, {"session_id", ids.session}}},
      {"cancel_run", {{"run_id", ids.run}}},
      {"pause_session", {{"session_id", ids.session}}},
      {"resume_session", {{"session_id", ids.session}}},
      {"delete_session", {{"session_id", ids.session}}}};
}

// These take nothing that belongs to anybody.
const std::set<std::string> kNameNothing = {"create_session", "list_sessions"};

class PrincipalsTest : public tools::fake::ToolsFixture {
 protected:
  PrincipalsTest()
      : alice_(store_->principals.ensure("alice").value()),
        bob_(store_->principals.ensure("bob").value()) {}

  // Its text, whether it failed, and what is structured of it.
  struct Outcome {
    bool failed;
    std::string text;
    json structured;
  };
  Outcome call(const std::string& principal, const std::string& tool, const json& arguments,
               const std::string& connection = "c", const std::vector<std::string>& scopes = {}) {
    Caller caller(principal, connection, scopes);
    const auto outcome = tools_.at(tool).call(arguments, caller);
    const auto& result = std::get<mcp::ToolResult>(outcome);
    return {result.is_error, result.content->at(0).value("text", ""), result.structured_content};
  }

  // A session of that principal with a file and a run.
  Ids made_by(const std::string& principal, const std::string& name) {
    const auto session = call(principal, "create_session", {{"name", name}});
    EXPECT_FALSE(session.failed) << session.text;
    Ids ids;
    ids.session = session.structured.value("session_id", "");
    (void)call(principal, "write_file",
               {{"path", "kept"}, {"content", "secret"}, {"session_id", ids.session}});
    const auto run = call(principal, "run_code", {{"code", "1"}, {"session_id", ids.session}});
    EXPECT_FALSE(run.failed) << run.text;
    ids.run = run.structured.value("run_id", "");
    return ids;
  }

  std::string alice_;
  std::string bob_;
};

TEST_F(PrincipalsTest, EveryToolIsTried) {
  std::set<std::string> tried = kNameNothing;
  for (const auto& [tool, arguments] : uses_of({})) tried.insert(tool);
  std::set<std::string> all;
  for (const auto& [name, tool] : tools_) all.insert(name);
  EXPECT_EQ(tried, all) << "a tool has come without a row here";
}

TEST_F(PrincipalsTest, AnothersThingsAreAsThingsThatNeverWere) {
  const Ids ids = made_by(alice_, "work");
  const Ids unknown{base::random_id("session_"), base::random_id("run_")};
  const auto foreign = uses_of(ids);
  const auto never = uses_of(unknown);
  for (std::size_t i = 0; i < foreign.size(); ++i) {
    const auto& [tool, arguments] = foreign[i];
    const Outcome theirs = call(bob_, tool, arguments);
    const Outcome nothing = call(bob_, tool, never[i].second);
    EXPECT_TRUE(theirs.failed) << tool << ": " << theirs.text;
    EXPECT_EQ(theirs.text, nothing.text) << tool;
    EXPECT_EQ(theirs.structured, nothing.structured) << tool;
  }
  // Nothing of it had an effect.
  EXPECT_EQ(call(alice_, "read_file", {{"path", "kept"}, {"session_id", ids.session}})
                .structured.value("content", ""),
            "secret");
  EXPECT_EQ(store_->runs.of_session(ids.session, 100).value().size(), 1U);
}

TEST_F(PrincipalsTest, TheOwnerMayDoAllOfIt) {
  const Ids ids = made_by(alice_, "work");
  for (const auto& [tool, arguments] : uses_of(ids)) {
    const Outcome outcome = call(alice_, tool, arguments);
    // Packages need a network, which there is none of, and a link a server: said only to whom the
    // session belongs.
    EXPECT_EQ(outcome.failed, tool == "install_packages" || tool == "share_port")
        << tool << ": " << outcome.text;
    EXPECT_EQ(outcome.text.find("no such"), std::string::npos) << tool << ": " << outcome.text;
  }
}

TEST_F(PrincipalsTest, ANameIsOfOnePrincipal) {
  const Ids alices = made_by(alice_, "work");
  EXPECT_TRUE(call(bob_, "run_code", {{"code", "1"}, {"session_id", "work"}}).failed);
  const Ids bobs = made_by(bob_, "work");
  EXPECT_NE(alices.session, bobs.session);
  EXPECT_EQ(call(bob_, "run_code", {{"code", "1"}, {"session_id", "work"}})
                .structured.value("session_id", ""),
            bobs.session);
}

TEST_F(PrincipalsTest, OnesOwnSessionDoesNotOpenAnothersRun) {
  const Ids alices = made_by(alice_, "work");
  const Ids bobs = made_by(bob_, "work");
  EXPECT_TRUE(
      call(bob_, "list_files", {{"session_id", bobs.session}, {"changed_since", alices.run}})
          .failed);
}

TEST_F(PrincipalsTest, ListsAreOfOnePrincipal) {
  (void)made_by(alice_, "work");
  EXPECT_EQ(call(alice_, "list_sessions", json::object()).structured["sessions"].size(), 1U);
  EXPECT_TRUE(call(bob_, "list_sessions", json::object()).structured["sessions"].empty());
}

TEST_F(PrincipalsTest, SharedFilesAreOfOnePrincipal) {
  const Ids ids = made_by(alice_, "work");
  const auto shared = call(alice_, "share_file", {{"path", "kept"}, {"session_id", ids.session}});
  const std::string id = shared.structured.value("id", "");
  EXPECT_TRUE(store_->shares.find(alice_, id).ok());
  EXPECT_EQ(store_->shares.find(bob_, id).error().message,
            store_->shares.find(bob_, base::random_id("share_")).error().message);
  EXPECT_TRUE(store_->shares.list(bob_).value().empty());
}

TEST_F(PrincipalsTest, OneConnectionIdMakesNoCommonSession) {
  const json arguments = {{"code", "1"}};
  const auto session_of = [&](const std::string& principal) {
    return call(principal, "run_code", arguments, "the same").structured.value("session_id", "");
  };
  const std::string alices = session_of(alice_);
  const std::string bobs = session_of(bob_);
  EXPECT_NE(alices, bobs);
  EXPECT_EQ(session_of(alice_), alices) << "and neither takes it from the other";
  EXPECT_EQ(session_of(bob_), bobs);
}

TEST_F(PrincipalsTest, NobodyIsNoPrincipal) {
  EXPECT_TRUE(call("", "create_session", json::object()).failed);
  EXPECT_TRUE(call("", "run_code", {{"code", "1"}}).failed);
}

TEST_F(PrincipalsTest, ATokenForReadingChangesNothing) {
  const Ids ids = made_by(alice_, "work");
  for (const auto& [tool, arguments] : uses_of(ids)) {
    const bool reads = tools_.at(tool).annotations->value("readOnlyHint", false);
    const Outcome outcome = call(alice_, tool, arguments, "c", {kScopeRead});
    EXPECT_EQ(outcome.failed, !reads) << tool << ": " << outcome.text;
    if (!reads) {
      EXPECT_NE(outcome.text.find("may only read"), std::string::npos) << tool;
    }
  }
  EXPECT_TRUE(call(alice_, "create_session", json::object(), "c", {kScopeRead}).failed);
  EXPECT_TRUE(call(alice_, "list_files", json::object(), "new", {kScopeRead}).failed)
      << "a session would have to be made";
  const auto sessions = store_->session_lists.newest(alice_, false, 10).value();
  ASSERT_EQ(sessions.size(), 1U);
  // The manager's sweep may see that no box of the fake sandbox lives.
  const sessions::SessionStatus status = sessions[0].status;
  EXPECT_TRUE(status == sessions::SessionStatus::kReady ||
              status == sessions::SessionStatus::kStopped)
      << name_of(status);
}

}  // namespace
