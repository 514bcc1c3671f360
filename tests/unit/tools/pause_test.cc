// pause_session: what runs is frozen, and nothing is started for that.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/clock.h"
#include "base/random_id.h"
#include "sessions/manager.h"
#include "sessions/principal_table.h"
#include "sessions/session.h"
#include "sessions/session_table.h"
#include "sessions/sessions.h"
#include "sessions/store.h"
#include "tests/unit/tools/caller.h"
#include "tests/unit/tools/tools_fixture.h"

namespace {

using nlohmann::json;

class PauseTest : public tools::fake::ToolsFixture {
 protected:
  mcp::ToolResult pause(const std::string& session) {
    tools::fake::Caller caller(principal_, "c");
    auto answer = tools_.at("pause_session").call({{"session_id", session}}, caller);
    return std::get<mcp::ToolResult>(std::move(answer));
  }
  std::string text_of(const mcp::ToolResult& result) {
    return result.content[0]["text"].get<std::string>();
  }

  const std::string principal_ = store_->principals.ensure("p").value();
};

TEST_F(PauseTest, AStoppedSessionStaysAsItIs) {
  sessions::Session wanted;
  wanted.id = base::random_id("session_");
  wanted.principal_id = principal_;
  wanted.created_at = wanted.last_used_at = base::now_ms();
  ASSERT_TRUE(store_->sessions.create(wanted, std::nullopt, 10).ok());
  ASSERT_TRUE(
      store_->sessions.set_status(wanted.id, sessions::SessionStatus::kStopped, "").value());
  const auto paused = pause(wanted.id);
  EXPECT_FALSE(paused.is_error) << text_of(paused);
  EXPECT_TRUE(sandbox_.started().empty());
  EXPECT_EQ(paused.structured_content["status"], "stopped");
  EXPECT_EQ(paused.structured_content["note"],
            "it has nothing running to pause; its files are kept");
  EXPECT_NE(text_of(paused).find("nothing running to pause"), std::string::npos);
  ASSERT_TRUE(
      store_->sessions.set_status(wanted.id, sessions::SessionStatus::kDestroyed, "").value());
  EXPECT_TRUE(pause(wanted.id).is_error);
}

TEST_F(PauseTest, OneThatRunsIsPaused) {
  const auto made = manager_->services().sessions.create(principal_, {}).value();
  const auto paused = pause(made.session.id);
  EXPECT_FALSE(paused.is_error) << text_of(paused);
  EXPECT_FALSE(paused.structured_content->contains("note"));
  EXPECT_EQ(sandbox_.started().size(), 1U);
}

TEST_F(PauseTest, OneThatStaysInMemorySaysWhyAndOnlyInOneLine) {
  sandbox::BoxStatus now;
  sandbox_.hook_boxes({.tell = [&now](const std::string&, sandbox::BoxStatus& told) {
    told.paused = now.paused;
    told.is_storing = now.is_storing;
    told.held_by = now.held_by;
  }});
  const auto made = manager_->services().sessions.create(principal_, {}).value();
  now.paused = now.is_storing = true;
  const auto storing = pause(made.session.id);
  EXPECT_EQ(storing.structured_content["tier"], "frozen");
  EXPECT_EQ(storing.structured_content["note"],
            "what it knows is being stored; it wakes by itself at the next use");
  now.is_storing = false;
  EXPECT_EQ(pause(made.session.id).structured_content["note"],
            "it stays in memory; it wakes by itself at the next use");
  now.held_by = "process 7 (a\nb)";
  const auto held = pause(made.session.id);
  const auto note = held.structured_content["note"].get<std::string>();
  EXPECT_EQ(note,
            "it stays in memory, since process 7 (a\\nb); what can be stored of it is stored; it "
            "wakes by itself at the next use");
  EXPECT_NE(text_of(held).find(", tier frozen, "), std::string::npos) << text_of(held);
  EXPECT_NE(text_of(held).find(note), std::string::npos);
}

}  // namespace
