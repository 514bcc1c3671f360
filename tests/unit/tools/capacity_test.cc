// Sessions whose box finds no room on the machine.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include <nlohmann/json.hpp>

#include "sandbox/host_capacity.h"
#include "sessions/manager.h"
#include "sessions/principal_table.h"
#include "sessions/session_options.h"
#include "sessions/session_state.h"
#include "sessions/session_states.h"
#include "sessions/sessions.h"
#include "sessions/store.h"
#include "tests/unit/tools/caller.h"
#include "tests/unit/tools/tools_fixture.h"
#include "tools/api/json_answer.h"

namespace {

using base::Error;

class CapacityTest : public tools::fake::ToolsFixture {
 protected:
  void fill_machine() {
    sandbox_.fail_starts_with(
        sandbox::describe_capacity(base::error(Error::Kind::kCapacity, "clone: no pid")));
  }
  base::Result<sessions::SessionState> create() {
    sessions::SessionOptions options;
    options.name = "wanted";
    return manager_->services().sessions.create(principal_, options);
  }
  std::size_t counted() {
    return manager_->services().states.list(principal_, std::nullopt).value()->size();
  }

  const std::string principal_ = store_->principals.ensure("p").value();
};

TEST_F(CapacityTest, NothingIsLeftOfASessionThatFoundNoRoom) {
  fill_machine();
  const auto made = create();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, Error::Kind::kCapacity);
  EXPECT_EQ(counted(), 0U);
  sandbox_.fail_starts_with(std::nullopt);
  EXPECT_TRUE(create().ok()) << "the name is free";
  EXPECT_EQ(counted(), 1U);
}

TEST_F(CapacityTest, AConnectionGetsItsSessionWhenThereIsRoom) {
  fill_machine();
  EXPECT_FALSE(manager_->services().sessions.session_of_connection(principal_, "c").ok());
  EXPECT_FALSE(manager_->services().sessions.session_of_connection(principal_, "c").ok());
  sandbox_.fail_starts_with(std::nullopt);
  EXPECT_TRUE(manager_->services().sessions.session_of_connection(principal_, "c").ok());
  EXPECT_EQ(counted(), 1U);
}

TEST_F(CapacityTest, AnotherFailureOfAStartIsKeptToBeLookedAt) {
  sandbox_.fail_starts_with(base::error(Error::Kind::kInternal, "mount /proc: no"));
  EXPECT_FALSE(create().ok());
  const auto listed = manager_->services().states.list(principal_, std::nullopt).value();
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ(listed->at(0).session.status, sessions::SessionStatus::kError);
}

TEST_F(CapacityTest, AToolSaysWhenToTryAgain) {
  fill_machine();
  tools::fake::Caller caller(principal_, "c");
  const auto answer = tools_.at("create_session").call(nlohmann::json::object(), caller);
  const auto& refusal = std::get<mcp::ToolResult>(answer);
  EXPECT_TRUE(refusal.is_error);
  EXPECT_EQ(*refusal.meta, (nlohmann::json{{"retryAfterSeconds", 5}}));
}

TEST(CapacityOverHttp, IsToldWithWhenToTryAgain) {
  const auto refusal = tools::api::with_retry_after(base::error(Error::Kind::kCapacity, "full"),
                                                    mcp::http::Response());
  ASSERT_EQ(refusal.headers.size(), 1U);
  EXPECT_EQ(refusal.headers[0].first, "Retry-After");
  EXPECT_EQ(refusal.headers[0].second, "5");
  EXPECT_EQ(tools::api::status_of(base::error(Error::Kind::kCapacity, "full")), 503);
}

}  // namespace
