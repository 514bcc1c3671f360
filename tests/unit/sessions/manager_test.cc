// All services together: a manager takes its place among the servers, hands out services that know
// of each other, puts right what dead servers left, and leaves nothing behind.
#include "sessions/manager.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "sessions/patience.h"
#include "sessions/servers.h"
#include "sessions/session_lists.h"
#include "sessions/session_options.h"
#include "sessions/session_state.h"
#include "sessions/sessions.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

namespace fs = std::filesystem;

class ManagerTest : public testing::ServicesFixture {
 protected:
  using Kind = base::Error::Kind;

  base::Result<std::unique_ptr<Manager>> open() {
    return Manager::open(config_, *store_, sandbox_);
  }
  [[nodiscard]] std::ptrdiff_t servers() const {
    return std::distance(fs::directory_iterator(directory_ + "/servers"), fs::directory_iterator());
  }
};

TEST_F(ManagerTest, ItTakesItsPlaceAmongServersAndLeavesIt) {
  fs::remove_all(directory_ + "/sessions");
  {
    const auto manager = open().value();
    EXPECT_TRUE(fs::is_directory(directory_ + "/sessions"));
    EXPECT_EQ(servers(), 1);
    const auto second = open().value();
    EXPECT_EQ(servers(), 2) << "several share a state directory";
  }
  EXPECT_EQ(servers(), 0);
}

TEST_F(ManagerTest, WithoutItsDirectoryItDoesNotOpen) {
  config_.state_directory = directory_ + "/none";
  const auto manager = open();
  ASSERT_FALSE(manager.ok());
  EXPECT_NE(manager.error().message.find(config_.state_directory), std::string::npos);
}

TEST_F(ManagerTest, ServicesKnowOfEachOther) {
  const auto manager = open().value();
  const Services services = manager->services();
  const auto made = services.sessions.create(principal_, SessionOptions{});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const std::string id = made.value().session.id;
  EXPECT_EQ(services.session_table.find(principal_, id).value().id, id);
  EXPECT_EQ(sandbox_.started().size(), 1U);
  EXPECT_TRUE(fs::is_directory(directory_ + "/sessions/" + id + "/workspace"));
  ASSERT_TRUE(services.sessions.destroy(principal_, id).ok());
  EXPECT_FALSE(services.sessions.find_live(principal_, id).ok());
}

TEST_F(ManagerTest, ASweepClearsUpAfterAServerThatWasKilled) {
  const Session left = kept([](Session& wanted) { wanted.status = SessionStatus::kReady; });
  const sessions::Run run = inserted(left);
  const auto manager = open().value();
  manager->sweep(std::stop_token());
  // The sweep of its own thread may have the session in hand, which the other one passes by.
  EXPECT_TRUE(wait_until(std::chrono::minutes(1), [&] {
    return status_of(left) == SessionStatus::kStopped &&
           store_->runs.find(principal_, run.id).value().status == "failed";
  }));
}

TEST_F(ManagerTest, TheEndOfTheServiceEndsItsBoxes) {
  const auto manager = open().value();
  const auto made = manager->services().sessions.create(principal_, SessionOptions{});
  ASSERT_TRUE(made.ok()) << made.error().message;
  sandbox_.set_alive(made.value().session.id, true);
  answer_with([this](const std::string& id, const std::string& call) {
    if (call == "shutdown") sandbox_.set_alive(id, false);
    return base::done();
  });
  const auto report = manager->end_boxes_of_service(std::chrono::seconds(60));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().ended, 1U);
  EXPECT_TRUE(report.value().left.empty());
}

}  // namespace
}  // namespace sessions
