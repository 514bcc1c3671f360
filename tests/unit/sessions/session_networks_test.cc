// Tests what a session may reach now: its choice, what it was granted besides, and the credentials.
#include "sessions/credential_table.h"
#include "sessions/network_table.h"
#include "sessions/session_networks.h"

#include <gtest/gtest.h>

#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

sandbox::NetworkRule rule(const std::string& text) {
  return sandbox::parse_network_rule(text).value();
}

class SessionNetworksTest : public testing::StoreFixture {
 protected:
  SessionNetworksTest() {
    granted_.hosts = {rule("api.example.com")};
    granted_.credentials = {"key"};
    StoredCredential stored;
    stored.credential.name = "key";
    stored.credential.host = rule("keys.example.com");
    stored.source = "value";
    EXPECT_TRUE(store_->credentials.put(stored).ok());
  }

  [[nodiscard]] SessionNetworks::Network of(const Session& session) const {
    return SessionNetworks(granted_, directory_, store_->network, store_->credentials)
        .network_of(session)
        .value();
  }

  GrantedNetwork granted_;
};

TEST_F(SessionNetworksTest, WithoutAChoiceASessionHasWhatIsGrantedUnasked) {
  const Session session = created();
  EXPECT_TRUE(of(session).hosts.empty());
  granted_.unasked = true;
  const auto network = of(session);
  EXPECT_EQ(network.hosts.size(), 2U) << "the host, and the one that the credential is for";
  EXPECT_EQ(network.credentials.size(), 1U);
}

TEST_F(SessionNetworksTest, AChoiceIsCutWithWhatIsGrantedNow) {
  Session session = created();
  session.network = NetworkChoice{{"api.example.com"}, {"key", "other"}, {}};
  EXPECT_EQ(of(session).hosts.size(), 2U);
  EXPECT_NE(of(session).note.find("other is not one that sessions may use"), std::string::npos);
  granted_.hosts.clear();
  const auto network = of(session);
  EXPECT_EQ(network.hosts, std::vector{rule("keys.example.com")});
  EXPECT_NE(network.note.find("api.example.com cannot be reached"), std::string::npos);
}

TEST_F(SessionNetworksTest, AHostThatWasAllowedOneSessionIsItsAlone) {
  const Session one = created();
  const Session other = created();
  ASSERT_TRUE(store_->network.set_grant(one.id, "extra.example.com", true, 1).ok());
  EXPECT_EQ(of(one).hosts, std::vector{rule("extra.example.com")});
  EXPECT_TRUE(of(other).hosts.empty());
}

TEST_F(SessionNetworksTest, RunnersAreToldHowASessionComesToAnIndex) {
  granted_.sets["packages"] = {rule("pypi.org:443"), rule("registry.npmjs.org:443")};
  granted_.indexes["pip"].hosts = {rule("pypi.org:443")};
  granted_.indexes["npm"].hosts = {rule("registry.npmjs.org:443")};
  granted_.indexes["gem"].hosts = {rule("rubygems.org:443")};
  Session session = created();
  session.network = NetworkChoice{{"pypi.org:443"}, {}, {}};
  sandbox::BoxSpec spec;
  const SessionNetworks networks(granted_, directory_, store_->network, store_->credentials);
  ASSERT_TRUE(networks.add({}, session, spec).ok());
  const std::map<std::string, std::string> both = {{"HUTCH_ASK_npm", "packages"},
                                                   {"HUTCH_ASK_pip", "packages"}};
  EXPECT_EQ(spec.env, both);
  sandbox::BoxSpec reaches;
  ASSERT_TRUE(networks.add(of(session), session, reaches).ok());
  EXPECT_EQ(reaches.env.count("HUTCH_ASK_pip"), 0U) << "it reaches that";
  EXPECT_EQ(reaches.env.count("HUTCH_ASK_npm"), 1U);
}

TEST_F(SessionNetworksTest, ABoxWithoutHostsHasTheBoundsOfLaterOnes) {
  const Session session = created();
  granted_.quota.bytes_left = 1000;
  sandbox::BoxSpec spec;
  spec.session_id = session.id;
  const SessionNetworks networks(granted_, directory_, store_->network, store_->credentials);
  ASSERT_TRUE(networks.add(of(session), session, spec).ok());
  EXPECT_TRUE(spec.network.empty());
  EXPECT_EQ(spec.network_quota.bytes_left, 1000);
  EXPECT_EQ(spec.network_quota.principal_id, session.principal_id);
}

}  // namespace
}  // namespace sessions
