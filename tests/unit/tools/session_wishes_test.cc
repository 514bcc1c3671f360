// Clients' words for sessions: what is malformed is named, nothing is taken for something else.
#include "tools/session_wishes.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tools {
namespace {

using nlohmann::json;

TEST(SessionWishes, NothingIsAWishThatSaysNothing) {
  for (const json& nothing : {json(), json::object()}) {
    const auto network = network_wish(nothing).value();
    EXPECT_FALSE(network.allow || network.blocks_outbound);
    EXPECT_TRUE(filesystem_wish(nothing).value().empty());
  }
  EXPECT_FALSE(network_wish({{"allow", nullptr}}).value().allow);
}

TEST(SessionWishes, EachMemberComesAsItIsMeant) {
  const json given = {{"allow", {"pypi.org"}},
                      {"credentials", {"key"}},
                      {"deny_addresses", {"10.0.0.0/8"}},
                      {"block_outbound", false}};
  const auto network = network_wish(given).value();
  EXPECT_EQ(network.allow, std::vector<std::string>{"pypi.org"});
  EXPECT_EQ(network.credentials, std::vector<std::string>{"key"});
  EXPECT_EQ(network.denied.size(), 1U);
  const auto files = filesystem_wish({{"read_only", json::array()}, {"blocked", {"/x"}}}).value();
  EXPECT_TRUE(files.read_only && files.read_only->empty() && !files.read_write);
  EXPECT_EQ(files.blocked, std::vector<std::string>{"/x"});
}

TEST(SessionWishes, WhatIsMalformedIsNamed) {
  const std::pair<json, const char*> networks[] = {
      {"x", "network must be an object"},
      {{{"alow", {"a"}}}, "unknown key network.alow"},
      {{{"allow", "a"}}, "network.allow must be an array"},
      {{{"credentials", {1}}}, "network.credentials must be an array"},
      {{{"block_outbound", "yes"}}, "network.block_outbound must be true or false"},
      {{{"deny_addresses", {"10.0.0.0/33"}}}, "network.deny_addresses"}};
  for (const auto& [given, says] : networks) {
    const auto wish = network_wish(given);
    ASSERT_FALSE(wish.ok()) << given;
    EXPECT_NE(wish.error().message.find(says), std::string::npos) << wish.error().message;
  }
  for (const json& given :
       {json("x"), json{{"read_only", "a"}}, json{{"blocked", {1}}}, json{{"write", {"a"}}}}) {
    EXPECT_FALSE(filesystem_wish(given).ok()) << given;
  }
}

}  // namespace
}  // namespace tools
