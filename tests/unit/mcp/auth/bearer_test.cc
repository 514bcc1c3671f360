// The Authorization header and the challenges.
#include <gtest/gtest.h>

#include "mcp/auth/bearer.h"
#include "mcp/auth/challenges.h"

namespace {

using namespace mcp::auth;

std::string read(std::string_view header) {
  const auto bearer = read_bearer(header);
  if (const auto* token = std::get_if<std::string_view>(&bearer)) return std::string(*token);
  return std::get<NoBearer>(bearer) == NoBearer::kAbsent ? "<absent>" : "<malformed>";
}

TEST(Bearer, TokensAreReadAsTheyStand) {
  EXPECT_EQ(read("Bearer abc"), "abc");
  EXPECT_EQ(read("bearer abc"), "abc");
  EXPECT_EQ(read("BEARER   abc"), "abc");
  EXPECT_EQ(read("Bearer aZ09-._~+/=="), "aZ09-._~+/==");
  const std::string largest(kBearerBytesMax, 'x');
  EXPECT_EQ(read("Bearer " + largest), largest);
}

TEST(Bearer, OtherSchemesAreNoToken) {
  for (const char* header : {"", " ", "Basic dTpw", "Bearerabc", "Bearer2 abc", " Bearer abc",
                             "Digest a=b", "bear er", "hutch_0123"}) {
    EXPECT_EQ(read(header), "<absent>") << header;
  }
}

TEST(Bearer, WhatNoTokenCanBeIsMalformed) {
  for (const char* header :
       {"Bearer", "Bearer ", "Bearer    ", "Bearer a b", "Bearer a,b", "Bearer =", "Bearer a=b",
        "Bearer \"a\"", "Bearer a\tb", "Bearer a\r\n", "Bearer \xc3\xa9", "Bearer a "}) {
    EXPECT_EQ(read(header), "<malformed>") << header;
  }
  EXPECT_EQ(read(std::string_view("Bearer a\0b", 10)), "<malformed>");
  EXPECT_EQ(read("Bearer " + std::string(kBearerBytesMax + 1, 'x')), "<malformed>");
}

TEST(Challenges, WithoutAnAuthorizationServerNoneIsNamed) {
  const Challenges challenges;
  EXPECT_EQ(challenges.no_token().status, 401);
  EXPECT_EQ(challenges.no_token().www_authenticate, "Bearer realm=\"hutch\"");
  EXPECT_NE(challenges.no_token().message.find("hutch token create"), std::string::npos);
  EXPECT_EQ(challenges.invalid_token("why").www_authenticate,
            "Bearer realm=\"hutch\", error=\"invalid_token\", error_description=\"why\"");
  EXPECT_EQ(challenges.malformed().status, 400);
}

TEST(Challenges, WithOneItsMetadataAndScopesAre) {
  const Challenges challenges("https://h/.well-known/x", {"a", "b"});
  EXPECT_EQ(challenges.no_token().www_authenticate,
            "Bearer realm=\"hutch\", scope=\"a b\", resource_metadata=\"https://h/.well-known/x\"");
  const Challenge scope = challenges.insufficient_scope();
  EXPECT_EQ(scope.status, 403);
  EXPECT_EQ(scope.www_authenticate,
            "Bearer realm=\"hutch\", error=\"insufficient_scope\", error_description=\"the token "
            "lacks a scope that is needed\", scope=\"a b\", "
            "resource_metadata=\"https://h/.well-known/x\"");
}

}  // namespace
