// The plan of a box has what its session's row says, as far as this server's settings have it now.
#include "sessions/box_specs.h"
#include "sessions/ground.h"
#include "sessions/manager_config.h"
#include "sessions/network_table.h"
#include "sessions/run_table.h"
#include "sessions/session.h"
#include "sessions/session_networks.h"
#include "sessions/state_shares.h"
#include "sessions/spare_table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"
#include "tests/unit/tools/fake_sandbox.h"

namespace sessions {
namespace {

namespace fs = std::filesystem;
using base::Error;
using sandbox::Language;

class BoxSpecsTest : public testing::StoreFixture {
 protected:
  BoxSpecsTest() {
    config_.state_directory = directory_;
    config_.environments_directory = directory_ + "/environments";
    fs::create_directory(config_.environments_directory);
  }

  base::Result<sandbox::BoxSpec> plan(const Session& session) {
    const Ground ground(config_, sandbox_);
    const SessionNetworks networks(ground.config.network, directory_, store_->network,
                                   store_->credentials);
    StateShares shares(ground, store_->session_lists);
    return BoxSpecs(ground, store_->runs, networks, shares).spec_of(session);
  }
  void build(const std::string& name, const std::string& id) {
    const std::string& all = config_.environments_directory;
    fs::create_directory(all + "/" + id);
    std::ofstream(all + "/" + id + "/environment.json") << "{}";
    fs::remove(all + "/" + name);
    fs::create_symlink(id, all + "/" + name);
  }
  void insert_run_in(const Session& session, const std::string& language, std::int64_t ago_ms) {
    sessions::Run run;
    run.id = base::random_id("run_");
    run.session_id = session.id;
    run.language = language;
    run.queued_at = base::now_ms() - ago_ms;
    EXPECT_TRUE(store_->runs.insert(run).ok());
  }

  ManagerConfig config_;
  sandbox::fake::FakeSandbox sandbox_;
};

TEST_F(BoxSpecsTest, APlanHasWhatTheRowSays) {
  Session session = created();
  session.limits.memory_mb = 64;
  session.env = {{"KEY", "value"}};
  session.idle_seconds = 7;
  session.paths.blocked = {"/workspace/secret"};
  config_.paused_max_seconds = 11;
  const auto spec = plan(session).value();
  EXPECT_EQ(spec.session_id, session.id);
  EXPECT_EQ(spec.session_directory, directory_ + "/sessions/" + session.id);
  EXPECT_EQ(spec.limits, session.limits);
  EXPECT_EQ(spec.env, session.env);
  EXPECT_EQ(spec.idle_seconds, 7);
  EXPECT_EQ(spec.paused_max_seconds, 11);
  EXPECT_EQ(spec.paths, session.paths);
  EXPECT_EQ(static_cast<std::int64_t>(spec.host_uid.value()), session.host_uid);
  EXPECT_EQ(spec.ends_in_ms, std::nullopt);
  session.host_uid.reset();
  EXPECT_EQ(plan(session).value().host_uid, std::nullopt) << "as of an ordinary user";
}

TEST_F(BoxSpecsTest, TheIdOfTheDoorIsTheOneThatNoSessionGets) {
  const Session session = created();
  EXPECT_EQ(plan(session).value().egress_uid, std::nullopt);
  config_.own_ids = kIds;
  const std::int64_t door = plan(session).value().egress_uid.value();
  EXPECT_FALSE(kIds.has(door));
  EXPECT_TRUE(kIds.has(door - 1));
}

TEST_F(BoxSpecsTest, ATemplateIsTheEnvironmentThatHasItsNameNow) {
  Session session = created();
  EXPECT_EQ(plan(session).value().environment_directory, "") << "the packages of the host";
  session.template_name = "tools";
  build("tools", "first");
  EXPECT_EQ(plan(session).value().environment_directory, config_.environments_directory + "/first");
  build("tools", "second");
  EXPECT_EQ(plan(session).value().environment_directory,
            config_.environments_directory + "/second");
}

TEST_F(BoxSpecsTest, WithoutItsTemplateASessionHasNoPlan) {
  Session session = created();
  build("other", "id");
  for (const char* gone : {"tools", "", "..", "../environments/other", "id"}) {
    session.template_name = gone;
    const auto spec = plan(session);
    ASSERT_FALSE(spec.ok()) << gone;
    EXPECT_EQ(spec.error().kind, Error::Kind::kNotFound) << gone;
    EXPECT_NE(spec.error().message.find("other"), std::string::npos) << spec.error().message;
  }
}

TEST_F(BoxSpecsTest, ABoxEndsWithAConnectionOnlyWhereBothSaySo) {
  Session session = created();
  EXPECT_FALSE(plan(session).value().ends_with_connection);
  session.ends_with_connection = true;
  EXPECT_TRUE(plan(session).value().ends_with_connection);
  config_.connections_end_with_server = false;
  EXPECT_FALSE(plan(session).value().ends_with_connection) << "its client may come back";
}

TEST_F(BoxSpecsTest, AnEndThatOnlyPausesIsNoEndOnceItIsPast) {
  Session session = created();
  session.lifetime_seconds = 3600;
  session.pauses_at_end = true;
  const auto left = plan(session).value().ends_in_ms;
  ASSERT_TRUE(left.has_value());
  EXPECT_TRUE(*left > 0 && *left <= 3'600'000) << *left;
  session.created_at -= 7'200'000;
  EXPECT_EQ(plan(session).value().ends_in_ms, std::nullopt) << "somebody has resumed it";
  session.pauses_at_end = false;
  EXPECT_LT(plan(session).value().ends_in_ms.value(), 0);
}

TEST_F(BoxSpecsTest, OneNoteTellsOfAllThatIsMissing) {
  Session session = created();
  session.host_folders = {{"data", "/srv/data", false, {}, 1, 1}};
  session.network = NetworkChoice{{"api.example.com"}, {}, {}};
  const auto spec = plan(session).value();
  EXPECT_TRUE(spec.host_folders.empty());
  EXPECT_TRUE(spec.network.empty());
  const std::size_t folders = spec.note.find("/mnt/data is missing");
  const std::size_t network = spec.note.find("api.example.com cannot be reached");
  ASSERT_NE(folders, std::string::npos) << spec.note;
  ASSERT_NE(network, std::string::npos) << spec.note;
  EXPECT_LT(spec.note.find("; ", folders), network) << spec.note;
}

TEST_F(BoxSpecsTest, ASpareStartsWithTheLanguagesOfTheLastHour) {
  const Session session = created();
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  Session spare = session;
  spare.principal_id = kSparePrincipal;
  EXPECT_EQ(plan(spare).value().ahead, std::vector{Language::kPython}) << "in any case";
  insert_run_in(session, "sql", 7'200'000);
  insert_run_in(session, "python", 1000);
  insert_run_in(session, "bash", 1000);
  insert_run_in(session, "a language of a newer hutch", 1000);
  EXPECT_EQ(plan(spare).value().ahead, (std::vector{Language::kPython, Language::kBash}));
  EXPECT_TRUE(plan(session).value().ahead.empty()) << "who asks says in which";
}

TEST_F(BoxSpecsTest, AGrantThatCannotBeReadIsNoPlanWithoutIt) {
  const Session session = created();
  ASSERT_TRUE(store_->network.set_grant(session.id, "no host at all", true, 1).ok());
  EXPECT_FALSE(plan(session).ok());
}

}  // namespace
}  // namespace sessions
