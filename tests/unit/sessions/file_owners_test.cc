// A session's files are its own before it starts, and ids of another state directory are replaced.
#include "sessions/audit_table.h"
#include "sessions/file_owners.h"
#include "sessions/ground.h"
#include "sessions/manager_config.h"
#include "sessions/session_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"
#include "tests/unit/tools/fake_sandbox.h"

namespace sessions {
namespace {

namespace fs = std::filesystem;

class FileOwnersTest : public testing::StoreFixture {
 protected:
  static constexpr HostUidRange kOwnRange{2'000'000'000, 1000};

  FileOwnersTest() {
    config_.state_directory = directory_;
    config_.own_ids = kOwnRange;
    config_.notify = [this](const Notice& notice) { notices_.push_back(notice); };
  }

  base::Status renew() {
    const Ground ground(config_, sandbox_);
    return FileOwners(ground, store_->sessions, store_->audit).renew();
  }
  base::Result<Session> with_own_files(const Session& session) {
    const Ground ground(config_, sandbox_);
    return FileOwners(ground, store_->sessions, store_->audit).with_own_files(session);
  }
  [[nodiscard]] std::optional<std::int64_t> id_in_row(const Session& session) const {
    return store_->sessions.find(session.principal_id, session.id).value().host_uid;
  }
  [[nodiscard]] std::string make_directory_of(const Session& session) const {
    const std::string path = directory_ + "/sessions/" + session.id;
    fs::create_directories(path);
    return path;
  }
  [[nodiscard]] bool is_change_audited(const Session& session) const {
    const auto entries = store_->audit.of_session(session.id, 100).value();
    return std::any_of(entries.begin(), entries.end(),
                       [](const AuditEntry& entry) { return entry.action == "change_owner"; });
  }

  ManagerConfig config_;
  sandbox::fake::FakeSandbox sandbox_;
  std::vector<Notice> notices_;
};

TEST_F(FileOwnersTest, WithoutIdsOfItsOwnAServerLeavesAllAsItIs) {
  config_.own_ids.reset();
  const Session session = created();
  ASSERT_TRUE(renew().ok());
  const auto same = with_own_files(session);  // which has no directory
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same.value().host_uid, session.host_uid);
  EXPECT_EQ(id_in_row(session), session.host_uid);
  EXPECT_TRUE(notices_.empty());
}

TEST_F(FileOwnersTest, WhoStartsACopyIsToldOnceOfHowManySessions) {
  const Session one = created();
  const Session other = created();
  ASSERT_TRUE(renew().ok());
  EXPECT_TRUE(kOwnRange.has(id_in_row(one).value()));
  EXPECT_TRUE(kOwnRange.has(id_in_row(other).value()));
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_EQ(notices_[0].level, Notice::Level::kShown);
  EXPECT_NE(notices_[0].message.find("(2)"), std::string::npos) << notices_[0].message;
  ASSERT_TRUE(renew().ok());
  EXPECT_EQ(notices_.size(), 1U) << "nothing is new";
}

TEST_F(FileOwnersTest, ASessionWhoseBoxLivesKeepsItsIdUntilItIsStarted) {
  const Session lives = created();
  const Session other = created();
  sandbox_.set_alive(lives.id, true);
  ASSERT_TRUE(renew().ok());
  EXPECT_EQ(id_in_row(lives), lives.host_uid);
  const auto of_other = id_in_row(other);
  EXPECT_TRUE(kOwnRange.has(of_other.value()));
  (void)make_directory_of(lives);
  const auto started = with_own_files(lives);
  ASSERT_TRUE(started.ok());
  EXPECT_TRUE(kOwnRange.has(started.value().host_uid.value()));
  EXPECT_EQ(id_in_row(lives), started.value().host_uid);
  EXPECT_NE(id_in_row(lives), of_other);
}

TEST_F(FileOwnersTest, ASessionThatHadNoIdGetsOneBeforeItStarts) {
  const Session without = store_->sessions.create(session(), std::nullopt, 1000).value();
  const Session other = created();
  (void)make_directory_of(without);
  const auto started = with_own_files(without);
  ASSERT_TRUE(started.ok());
  EXPECT_TRUE(kOwnRange.has(started.value().host_uid.value()));
  EXPECT_EQ(id_in_row(without), started.value().host_uid);
  EXPECT_EQ(id_in_row(other), other.host_uid) << "nobody asks for that one";
}

TEST_F(FileOwnersTest, WhereNoIdIsLeftNothingIsChangedAndNobodyIsTold) {
  const Session one = created();
  const Session other = created();
  config_.own_ids = HostUidRange{kOwnRange.first, 1};
  const auto renewed = renew();
  ASSERT_FALSE(renewed.ok());
  EXPECT_EQ(renewed.error().kind, base::Error::Kind::kLimit);
  EXPECT_EQ(id_in_row(one), one.host_uid);
  EXPECT_EQ(id_in_row(other), other.host_uid);
  EXPECT_TRUE(notices_.empty());
}

TEST_F(FileOwnersTest, ASessionWithoutItsDirectoryOrItsRowIsNotStarted) {
  EXPECT_FALSE(with_own_files(created()).ok());
  const Session never_written = session();
  (void)make_directory_of(never_written);
  const auto unknown = with_own_files(never_written);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, base::Error::Kind::kNotFound);
}

TEST_F(FileOwnersTest, FilesThatAreItsOwnStayAndNoAuditTellsOfThem) {
  // Whoever runs this test owns what it makes.
  config_.own_ids = HostUidRange{::geteuid(), 1};
  const Session session = store_->sessions.create(this->session(), config_.own_ids, 1000).value();
  const std::string path = make_directory_of(session);
  fs::create_directories(path + "/workspace");  // neither home nor tmp is made yet
  std::ofstream(path + "/workspace/file.txt") << "text";
  ASSERT_TRUE(with_own_files(session).ok());
  EXPECT_EQ(fs::file_size(path + "/workspace/file.txt"), 4U);
  EXPECT_FALSE(fs::exists(path + "/home"));
  EXPECT_FALSE(is_change_audited(session));
}

TEST_F(FileOwnersTest, FilesThatCannotBecomeItsOwnStopTheStartEachTime) {
  const Session session = created();
  const std::string path = make_directory_of(session);
  std::ofstream(path + "/workspace") << "no directory, which nothing of hutch makes";
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(with_own_files(session).ok()) << i;
  EXPECT_TRUE(fs::is_regular_file(path + "/workspace"));
  EXPECT_FALSE(is_change_audited(session)) << "nothing has changed";
}

}  // namespace
}  // namespace sessions
