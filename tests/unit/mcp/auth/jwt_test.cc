// Tokens are taken apart as they are written: three parts, and the scopes of their claims.
#include "mcp/auth/jwt.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/unit/mcp/auth/signing_key.h"

namespace mcp::auth {
namespace {

using nlohmann::json;

TEST(Jwt, ATokenWithAnEmptyPartIsRefused) {
  const std::string header = to_base64url(R"({"alg":"RS256"})");
  const std::string claims = to_base64url(R"({"sub":"alice"})");
  EXPECT_TRUE(std::holds_alternative<Jwt>(decode_jwt(header + "." + claims + ".AAAA")));
  const std::string malformed[] = {"",
                                   ".",
                                   "..",
                                   "...",
                                   header + "..AAAA",
                                   "." + claims + ".AAAA",
                                   "." + header + "." + claims + ".AAAA",
                                   header + ".." + claims + ".AAAA",
                                   header + "." + claims + "..AAAA",
                                   header + "." + claims + ".AAAA.",
                                   header + "." + claims};
  for (const std::string& token : malformed) {
    EXPECT_TRUE(std::holds_alternative<Refusal>(decode_jwt(token))) << token;
  }
}

// resource_server_test.cc has that none signs a token.
TEST(Jwt, AnEmptySignatureIsOne) {
  const std::string token = to_base64url(R"({"alg":"RS256"})") + "." + to_base64url("{}") + ".";
  const auto decoded = decode_jwt(token);
  ASSERT_TRUE(std::holds_alternative<Jwt>(decoded));
  EXPECT_EQ(std::get<Jwt>(decoded).signature, "");
}

TEST(Jwt, ScopesAreSeparatedBySpacesAlone) {
  const auto scopes = [](const json& scope) { return scopes_of(json{{"scope", scope}}); };
  using Scopes = std::vector<std::string>;
  EXPECT_EQ(scopes("read"), Scopes{"read"});
  EXPECT_EQ(scopes("  read   write "), (Scopes{"read", "write"}));
  EXPECT_EQ(scopes(""), Scopes());
  EXPECT_EQ(scopes("   "), Scopes());
  EXPECT_EQ(scopes("read\twrite admin\n"), (Scopes{"read\twrite", "admin\n"})) << "no such scopes";
  EXPECT_EQ(scopes({"read", "write more", 7}), (Scopes{"read", "write more"}));
  EXPECT_EQ(scopes_of(json{{"scope", "a"}, {"scp", "b c"}}), (Scopes{"a", "b", "c"}));
  EXPECT_EQ(scopes_of(json::object()), Scopes());
}

}  // namespace
}  // namespace mcp::auth
