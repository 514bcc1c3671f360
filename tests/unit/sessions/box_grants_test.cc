// A live box is kept only as long as it has no more, and when idle no less, than its session may.
#include "sessions/box_grants.h"
#include "sessions/ground.h"
#include "sessions/manager_config.h"
#include "sessions/session_networks.h"

#include <gtest/gtest.h>

#include "tests/unit/sessions/store_fixture.h"
#include "tests/unit/tools/fake_sandbox.h"

namespace sessions {
namespace {

using base::Error;
using sandbox::HostFolder;

HostFolder folder_of(const std::string& name, bool writable,
                     const std::vector<std::string>& blocked = {}) {
  return {name, "/srv/" + name, writable, blocked, 1, 1};
}

class BoxGrantsTest : public testing::StoreFixture {
 protected:
  BoxGrantsTest() : session_(created()) {
    config_.state_directory = directory_;
    config_.folders.decides = true;
    config_.folders.unasked = true;
    config_.folders.look_again = [](const HostFolder& folder) -> base::Result<HostFolder> {
      return folder;
    };
    config_.network.unasked = true;
    hooks_.status = [this](sandbox::BoxStatus& told) -> base::Status {
      ++asked_;
      if (failure_) return *failure_;
      told.isolation = said_.value_or(told.isolation);
      told.active.resize(active_);
      return base::done();
    };
    hooks_.shutdown = [this]() -> base::Status {
      ++ended_;
      if (shutdown_failure_) return *shutdown_failure_;
      return base::done();
    };
  }

  // Returns what a server that grants this makes of a box that has these.
  base::Result<bool> hold(const std::vector<HostFolder>& present,
                          const std::vector<HostFolder>& granted) {
    config_.folders.all = granted;
    const Ground ground(config_, sandbox_);
    const SessionNetworks networks(ground.config.network, directory_, store_->network,
                                   store_->credentials);
    BoxGrants grants(ground, networks);
    sandbox::BoxSpec spec;
    spec.host_folders = present;
    sandbox::fake::FakeBox box(spec, hooks_);
    auto held = grants.hold(session_, box);
    is_known_ = grants.are_known(session_.id);
    return held;
  }

  const Session session_;
  ManagerConfig config_;
  sandbox::fake::FakeSandbox sandbox_;
  sandbox::fake::BoxHooks hooks_;
  std::optional<sandbox::Isolation> said_;  // by the box, in place of its folders
  std::size_t active_ = 0;                  // runs of it
  std::optional<Error> failure_;
  std::optional<Error> shutdown_failure_;
  int asked_ = 0;
  int ended_ = 0;
  bool is_known_ = false;
};

TEST_F(BoxGrantsTest, WhoDecidesNothingAsksNoBox) {
  config_.folders.decides = false;
  EXPECT_TRUE(hold({folder_of("a", true)}, {}).value());
  EXPECT_TRUE(is_known_);
  EXPECT_EQ(asked_ + ended_, 0);
}

TEST_F(BoxGrantsTest, ABoxThatHasJustWhatIsGrantedIsKnownFromThenOn) {
  EXPECT_TRUE(hold({folder_of("a", true)}, {folder_of("a", true)}).value());
  EXPECT_TRUE(is_known_);
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(ended_, 0);
}

TEST_F(BoxGrantsTest, ABoxThatHasMoreIsEndedEvenAtWork) {
  active_ = 1;
  const std::vector<std::pair<std::vector<HostFolder>, std::vector<HostFolder>>> pairs = {
      {{folder_of("a", false), folder_of("b", false)}, {folder_of("a", false)}},
      {{folder_of("a", true)}, {folder_of("a", false)}},
      {{folder_of("a", false, {"x"})}, {folder_of("a", false, {"x", "y"})}},
      {{{"a", "/elsewhere/a", false, {}, 1, 1}}, {folder_of("a", false)}},
  };
  for (const auto& [present, granted] : pairs) {
    const int before = ended_;
    EXPECT_FALSE(hold(present, granted).value());
    EXPECT_EQ(ended_, before + 1);
    EXPECT_FALSE(is_known_);
  }
}

TEST_F(BoxGrantsTest, ABoxThatHasLessIsEndedOnceNothingRuns) {
  active_ = 1;
  EXPECT_TRUE(hold({}, {folder_of("a", false)}).value());
  EXPECT_FALSE(is_known_) << "the next use looks again";
  EXPECT_EQ(ended_, 0);
  active_ = 0;
  EXPECT_FALSE(hold({}, {folder_of("a", false)}).value());
  EXPECT_FALSE(hold({folder_of("a", false)}, {folder_of("a", true)}).value());
  EXPECT_FALSE(hold({folder_of("a", false, {"x"})}, {folder_of("a", false)}).value());
  EXPECT_EQ(ended_, 3);
}

TEST_F(BoxGrantsTest, AFolderThatWasMadeAnewIsAnotherOneOnceNothingRuns) {
  HostFolder anew = folder_of("a", false);
  ++anew.inode;
  active_ = 1;
  EXPECT_TRUE(hold({folder_of("a", false)}, {anew}).value());
  EXPECT_FALSE(is_known_);
  active_ = 0;
  EXPECT_FALSE(hold({folder_of("a", false)}, {anew}).value());
  EXPECT_EQ(ended_, 1);
}

TEST_F(BoxGrantsTest, AHostThatIsNotGrantedAnyMoreEndsTheBox) {
  said_.emplace().network = {sandbox::parse_network_rule("api.example.com").value(),
                             sandbox::parse_network_rule("other.example.com").value()};
  active_ = 1;
  config_.network.hosts = {sandbox::parse_network_rule("api.example.com").value(),
                           sandbox::parse_network_rule("*.example.com").value()};
  EXPECT_TRUE(hold({}, {}).value());
  config_.network.hosts.pop_back();
  EXPECT_FALSE(hold({}, {}).value());
  sandbox::Credential credential;
  credential.name = "key";
  credential.host = config_.network.hosts.front();
  said_.emplace().credentials = {credential};
  EXPECT_FALSE(hold({}, {}).value()) << "nor may it use a credential that sessions have no more";
  EXPECT_EQ(ended_, 2);
}

TEST_F(BoxGrantsTest, ABoxThatGivesNoAnswerIsNeitherKnownNorEnded) {
  failure_ = base::error(Error::Kind::kUnavailable, "it is silent");
  const auto held = hold({}, {});
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.error().kind, Error::Kind::kUnavailable);
  EXPECT_FALSE(is_known_);
  EXPECT_EQ(ended_, 0);
}

TEST_F(BoxGrantsTest, ABoxThatHasMoreAndDoesNotEndIsNobodys) {
  shutdown_failure_ = base::error(Error::Kind::kUnavailable, "it goes on");
  const auto held = hold({folder_of("a", false)}, {});
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.error().message, "it goes on");
  EXPECT_FALSE(is_known_);
}

TEST_F(BoxGrantsTest, ANewBoxIsKnownOnlyByWhatItSaysItself) {
  const Ground ground(config_, sandbox_);
  const SessionNetworks networks(ground.config.network, directory_, store_->network,
                                 store_->credentials);
  BoxGrants grants(ground, networks);
  sandbox::BoxSpec spec;
  spec.host_folders = {folder_of("a", true)};
  const auto status = sandbox::fake::FakeBox(spec).status().value();
  grants.remember(session_.id, status, spec);
  EXPECT_TRUE(grants.are_known(session_.id));
  EXPECT_FALSE(grants.are_known(created().id));
  grants.forget(session_.id);
  EXPECT_FALSE(grants.are_known(session_.id));
  // Another server was faster, and has started one with other folders.
  grants.remember(session_.id, status, spec);
  spec.host_folders = {folder_of("a", false)};
  grants.remember(session_.id, status, spec);
  EXPECT_FALSE(grants.are_known(session_.id));
  grants.remember(session_.id, sandbox::BoxStatus(), spec);
  EXPECT_FALSE(grants.are_known(session_.id)) << "it has said nothing";
}

}  // namespace
}  // namespace sessions
