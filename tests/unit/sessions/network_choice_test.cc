// Tests what a client may have of the network that is granted, and what is left of it when grants
// change.
#include "sessions/network_choice.h"

#include <gtest/gtest.h>

namespace sessions {
namespace {

GrantedNetwork granted_network() {
  GrantedNetwork network;
  network.hosts = {sandbox::parse_network_rule("api.example.com").value(),
                   sandbox::parse_network_rule("*.example.org").value()};
  network.sets["packages"] = {sandbox::parse_network_rule("pypi.org").value(),
                              sandbox::parse_network_rule("registry.npmjs.org").value()};
  network.credentials = {"key"};
  return network;
}

std::string refusal(const NetworkWish& wish) {
  const auto chosen = choose(wish, granted_network());
  return chosen.ok() ? "" : chosen.error().message;
}

TEST(NetworkChoice, AWishThatSaysNothingIsNoChoice) {
  EXPECT_FALSE(choose(NetworkWish(), granted_network()).value());
  EXPECT_EQ(choose({.allow = {{}}}, granted_network()).value(), NetworkChoice());
  EXPECT_EQ(choose({.blocks_outbound = true}, granted_network()).value(), NetworkChoice());
}

TEST(NetworkChoice, NamesOfSetsStayNames) {
  const NetworkWish wish{.allow = {{"packages", "a.example.org"}}, .credentials = {"key"}};
  const auto choice = choose(wish, granted_network()).value();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->allow, (std::vector<std::string>{"packages", "a.example.org"}));
  EXPECT_EQ(granted_hosts(*choice, granted_network()).hosts.size(), 3U);
}

TEST(NetworkChoice, WhatIsNotGrantedIsNamedWithWhoCanGrantIt) {
  EXPECT_NE(refusal({.allow = {{"other.example.com"}}}).find("--allow other.example.com"),
            std::string::npos);
  EXPECT_NE(refusal({.credentials = {"other"}}).find("--credential other"), std::string::npos);
  EXPECT_NE(refusal({.allow = {{"10.0.0.1"}}}), "");
  EXPECT_NE(refusal({.allow = {{"pypi.org"}}, .blocks_outbound = true}), "");
  const auto range = sandbox::parse_address_range("10.0.0.0/8").value();
  EXPECT_NE(refusal({.denied = {range}}).find("goes with network.allow"), std::string::npos);
}

TEST(NetworkChoice, AHostOfASetIsRefusedWithTheNameOfTheSet) {
  GrantedNetwork granted;
  granted.sets["packages"] = {sandbox::parse_network_rule("pypi.org:443").value()};
  const auto chosen = choose({.allow = {{"pypi.org"}}}, granted);
  ASSERT_FALSE(chosen.ok());
  const std::string has = chosen.error().message;
  EXPECT_NE(has.find("; packages has it"), std::string::npos) << has;
  EXPECT_EQ(has.find("--allow"), std::string::npos) << has;
}

TEST(NetworkChoice, AManagerOfPackagesIsNoHost) {
  for (const char* name : {"pip", "pypi", "npm", "npmjs"}) {
    const std::string has = refusal({.allow = {{name}}});
    EXPECT_NE(has.find("; packages has what pip and npm install"), std::string::npos) << has;
    EXPECT_EQ(has.find("--allow"), std::string::npos) << has;
    const auto without = choose({.allow = {{name}}}, GrantedNetwork());
    EXPECT_NE(without.error().message.find("--allow packages,"), std::string::npos) << name;
  }
}

TEST(NetworkChoice, AHostIsAskedForByTheNameThatGrantsIt) {
  const GrantedNetwork granted = granted_network();
  EXPECT_EQ(name_to_ask("pypi.org", granted), "packages");
  EXPECT_EQ(name_to_ask("pypi.org:443", granted), "packages");
  EXPECT_EQ(name_to_ask("a.example.org", granted), "*.example.org");
  for (const char* other : {"pypi.org:8443", "example.org", "10.0.0.1", "HOST", ""}) {
    EXPECT_FALSE(name_to_ask(other, granted)) << other;
  }
  EXPECT_EQ(names_to_ask(granted), "packages, api.example.com, *.example.org");
  EXPECT_EQ(names_to_ask({}), "");
}

TEST(NetworkChoice, WhatIsGrantedNoMoreIsTold) {
  const NetworkChoice choice{{"packages", "api.example.com"}, {}, {}};
  GrantedNetwork less = granted_network();
  less.sets.clear();
  const GrantedHosts now = granted_hosts(choice, less);
  EXPECT_EQ(now.hosts.size(), 1U);
  EXPECT_NE(now.note.find("packages cannot be reached"), std::string::npos);
}

}  // namespace
}  // namespace sessions
