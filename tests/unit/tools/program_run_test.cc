// A program that a door runs for a request is waited for, and its session is left as it is.
#include "tools/program_run.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <vector>

#include "sessions/principal_table.h"
#include "sessions/runs.h"
#include "sessions/sessions.h"
#include "tests/unit/tools/tools_fixture.h"

namespace {

using tools::fake::ToolsFixture;

// The start has woken its session. A pause that comes between the start and the first wait is
// meant.
TEST_F(ToolsFixture, WaitingForAProgramWakesNoSession) {
  std::vector<bool> wakes;
  sandbox_.hook_boxes({.tell_run = [&](const sandbox::WaitOptions& wait, sandbox::Run& told) {
    wakes.push_back(wait.wakes);
    told.status = sandbox::RunStatus::kCompleted;
  }});
  const std::string principal = store_->principals.ensure("one").value();
  const auto session = manager_->services().sessions.create(principal, {}).value().session;
  sandbox::RunRequest request;
  request.language = sandbox::Language::kBash;
  request.code = sandbox::fake::kEndless;
  const tools::Services services{manager_->services(), *share_, ""};
  const auto state = services.runs.start(session, request).value();
  (void)tools::wait_for_end(services, session, state, std::stop_token()).value();
  EXPECT_EQ(wakes, std::vector<bool>{false});
}

}  // namespace
