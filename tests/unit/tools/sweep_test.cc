// Tests what goes with the sweep of a server that stays: shared files whose time is over.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "base/random_id.h"
#include "sessions/manager.h"
#include "sessions/manager_config.h"
#include "sessions/principal_table.h"
#include "sessions/session.h"
#include "sessions/session_table.h"
#include "sessions/share_table.h"
#include "sessions/store.h"
#include "tests/unit/tools/tools_fixture.h"

namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

class SweepTest : public tools::fake::ToolsFixture {
 protected:
  SweepTest() {
    sessions::ManagerConfig config = manager_->services().config;
    manager_.reset();
    config.sweep_interval = std::chrono::milliseconds(10);
    config.sweep_others = [this] { share_->sweep(); };
    manager_ = sessions::Manager::open(config, *store_, sandbox_).value();
  }

  sessions::Share shared(std::int64_t seconds) {
    const std::string principal = store_->principals.ensure("p").value();
    sessions::Session session;
    session.id = base::random_id("session_");
    session.principal_id = principal;
    session.created_at = session.last_used_at = base::now_ms();
    EXPECT_TRUE(store_->sessions.create(session, std::nullopt, 10).ok());
    const base::UniqueFd source = base::make_memory_file("source", "x").value();
    return share_->publish(source.get(), {session.id, principal, "/workspace/f", "", seconds})
        .value();
  }
};

TEST_F(SweepTest, WhatHasExpiredGoesWhileTheServerStays) {
  const auto lasting = shared(3600);
  const auto brief = shared(1);
  const auto deadline = steady_clock::now() + std::chrono::seconds(30);
  while (fs::exists(directory_ + "/shared/" + brief.id)) {
    ASSERT_LT(steady_clock::now(), deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(store_->shares.exists(brief.id).value());
  EXPECT_TRUE(fs::exists(share_->stored_path(lasting)));
}

}  // namespace
