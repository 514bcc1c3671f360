// Tokens of an authorization server: every way in which one can be wrong, and the document about
// us.
#include <gtest/gtest.h>

#include <functional>

#include <nlohmann/json.hpp>

#include "mcp/auth/resource_server.h"
#include "tests/unit/mcp/auth/signing_key.h"

namespace {

using namespace mcp::auth;
using nlohmann::json;

constexpr double kNow = 1'800'000'000;
constexpr const char* kIssuer = "https://login.example.com";
constexpr const char* kResource = "https://hutch.example.com/mcp";

const SigningKey& rsa() {
  static const SigningKey kKey = SigningKey::rsa();
  return kKey;
}

json good_claims() {
  return {{"iss", kIssuer},    {"sub", "alice"},    {"aud", kResource},    {"exp", kNow + 300},
          {"nbf", kNow - 300}, {"iat", kNow - 300}, {"scope", "mcp extra"}};
}

json claims_with(const char* name, const json& value) {
  json claims = good_claims();
  claims[name] = value;
  return claims;
}

json claims_without(const char* name) {
  json claims = good_claims();
  claims.erase(name);
  return claims;
}

// "alice", or the status and what the client is told.
std::string outcome(const std::string& keys, const std::string& token,
                    const std::function<void(ResourceServerOptions&)>& change = nullptr) {
  ResourceServerOptions options{kIssuer, kResource, {"mcp"}};
  if (change) change(options);
  ResourceServer server(
      options, [&keys] { return keys; }, [](const std::string&) {}, [] { return kNow; });
  const auto checked = server.check(token);
  if (const auto* subject = std::get_if<Subject>(&checked)) {
    EXPECT_EQ(subject->issuer, kIssuer);
    return subject->subject;
  }
  const auto& challenge = std::get<Challenge>(checked);
  if (challenge.status == 401 || challenge.status == 403) {
    EXPECT_NE(
        challenge.www_authenticate.find("resource_metadata=\"https://hutch.example.com/.well-known/"
                                        "oauth-protected-resource/mcp\""),
        std::string::npos);
  }
  return std::to_string(challenge.status) + " " + challenge.message;
}

std::string with_claims(const json& claims) {
  return outcome(key_set({rsa().jwk()}), rsa().token(claims));
}

std::string with_header(const json& header) {
  return outcome(key_set({rsa().jwk()}), rsa().token_with(header, good_claims()));
}

TEST(ResourceServer, EachAlgorithmIsTakenWithItsKey) {
  for (const SigningKey& key : {rsa(), SigningKey::ec(), SigningKey::ed25519()}) {
    EXPECT_EQ(outcome(key_set({key.jwk()}), key.token(good_claims())), "alice");
  }
}

TEST(ResourceServer, ASignatureOfAnotherKeyIsRefused) {
  const std::string refused = "401 the token is not signed with a key of the issuer";
  const std::pair<SigningKey, SigningKey> pairs[] = {
      {rsa(), SigningKey::rsa()},
      {SigningKey::ec(), SigningKey::ec()},
      {SigningKey::ed25519(), SigningKey::ed25519()}};
  for (const auto& [known, other] : pairs) {
    EXPECT_EQ(outcome(key_set({known.jwk()}), other.token(good_claims())), refused);
  }
}

TEST(ResourceServer, EveryPartIsSigned) {
  for (const SigningKey& key : {rsa(), SigningKey::ec(), SigningKey::ed25519()}) {
    const std::string keys = key_set({key.jwk()});
    const std::string token = key.token(good_claims());
    const std::string other = key.token(claims_with("sub", "bob"));
    const std::size_t dot = token.rfind('.');
    EXPECT_NE(outcome(keys, other.substr(0, other.rfind('.')) + token.substr(dot)), "bob");
    for (std::size_t at = 0; at < token.size(); at += 7) {
      std::string changed = token;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      if (changed == token) continue;
      EXPECT_TRUE(outcome(keys, changed).starts_with("401 ")) << at;
    }
    EXPECT_TRUE(outcome(keys, token.substr(0, dot + 1)).starts_with("401 ")) << "no signature";
    EXPECT_TRUE(outcome(keys, token + "AAAA").starts_with("401 ")) << "a longer one";
  }
}

TEST(ResourceServer, AZeroSignatureIsRefused) {
  const SigningKey key = SigningKey::ec();
  const std::string token = key.token(good_claims());
  const std::string zeros = to_base64url(std::string(64, '\0'));
  EXPECT_TRUE(outcome(key_set({key.jwk()}), token.substr(0, token.rfind('.') + 1) + zeros)
                  .starts_with("401 "));
}

TEST(ResourceServer, OtherAlgorithmsAreRefused) {
  for (const char* name :
       {"none", "None", "NONE", "HS256", "RS512", "PS256", "ES384", "rs256", ""}) {
    EXPECT_EQ(with_header({{"alg", name}, {"kid", "k"}}),
              "401 the token is not signed with RS256, ES256 or EdDSA");
  }
  EXPECT_TRUE(with_header({{"alg", 256}, {"kid", "k"}}).starts_with("401 "));
  EXPECT_TRUE(with_header({{"alg", {"RS256"}}, {"kid", "k"}}).starts_with("401 "));
  EXPECT_TRUE(with_header({{"kid", "k"}}).starts_with("401 "));
  EXPECT_EQ(outcome(key_set({rsa().jwk()}), rsa().token(good_claims()),
                    [](auto& options) { options.algorithms = {Algorithm::kEs256}; }),
            "401 the token is signed with an algorithm that is not allowed");
}

TEST(ResourceServer, NoSignatureAtAllIsRefused) {
  const std::string bytes =
      to_base64url(R"({"alg":"none"})") + "." + to_base64url(good_claims().dump());
  EXPECT_TRUE(outcome(key_set({rsa().jwk()}), bytes + ".").starts_with("401 "));
  EXPECT_TRUE(outcome(key_set({rsa().jwk()}), bytes).starts_with("401 "));
}

TEST(ResourceServer, APublicKeyIsNoSecret) {
  for (const char* named : {"HS256", "RS256", "ES256", "EdDSA"}) {
    const std::string bytes = to_base64url(json{{"alg", named}, {"kid", "k"}}.dump()) + "." +
                              to_base64url(good_claims().dump());
    for (const std::string& secret : {rsa().public_bytes(), rsa().jwk().dump(), std::string()}) {
      EXPECT_TRUE(
          outcome(key_set({rsa().jwk()}), bytes + "." + to_base64url(hmac_sha256(secret, bytes)))
              .starts_with("401 "));
    }
  }
}

TEST(ResourceServer, TheAlgorithmDoesNotChooseHowAKeyIsUsed) {
  // Signed well, but under the name of another algorithm, with the key that has the key id.
  const SigningKey ec = SigningKey::ec();
  for (const char* named : {"RS256", "EdDSA"}) {
    EXPECT_TRUE(
        outcome(key_set({ec.jwk()}), ec.token_with({{"alg", named}, {"kid", "k"}}, good_claims()))
            .starts_with("401 "));
  }
  EXPECT_TRUE(with_header({{"alg", "ES256"}, {"kid", "k"}}).starts_with("401 "));
}

TEST(ResourceServer, AKeyInTheTokenIsNotBelieved) {
  const SigningKey own = SigningKey::rsa();
  const json header = {
      {"alg", "RS256"}, {"kid", "k"}, {"jwk", own.jwk()}, {"jku", "https://evil.example.com/jwks"}};
  EXPECT_TRUE(
      outcome(key_set({rsa().jwk()}), own.token_with(header, good_claims())).starts_with("401 "));
}

TEST(ResourceServer, TheRightKeyIsChosen) {
  const SigningKey other = SigningKey::rsa();
  const std::string two = key_set({other.jwk("a"), rsa().jwk("b")});
  EXPECT_EQ(outcome(two, rsa().token(good_claims(), "b")), "alice");
  EXPECT_TRUE(outcome(two, rsa().token(good_claims(), "a")).starts_with("401 "));
  EXPECT_TRUE(outcome(two, rsa().token(good_claims(), "c")).starts_with("401 "));
  const json nameless = {{"alg", "RS256"}};
  EXPECT_TRUE(outcome(two, rsa().token_with(nameless, good_claims())).starts_with("401 "));
  EXPECT_EQ(outcome(key_set({rsa().jwk()}), rsa().token_with(nameless, good_claims())), "alice");
  EXPECT_EQ(outcome(key_set({SigningKey::ec().jwk(), rsa().jwk()}),
                    rsa().token_with(nameless, good_claims())),
            "alice")
      << "the only one of its kind";
  EXPECT_TRUE(with_header({{"alg", "RS256"}, {"kid", 7}}).starts_with("401 "));
}

TEST(ResourceServer, TokensOfOtherPurposesAreRefused) {
  EXPECT_EQ(with_header({{"alg", "RS256"}, {"kid", "k"}, {"typ", "JWT"}}), "alice");
  EXPECT_EQ(with_header({{"alg", "RS256"}, {"kid", "k"}, {"typ", "application/AT+JWT"}}), "alice");
  for (const json& type : {json("logout+jwt"), json("dpop+jwt"), json(""), json(1)}) {
    EXPECT_EQ(with_header({{"alg", "RS256"}, {"kid", "k"}, {"typ", type}}),
              "401 the token is no access token");
  }
  EXPECT_TRUE(with_header({{"alg", "RS256"}, {"kid", "k"}, {"crit", {"b64"}}, {"b64", false}})
                  .starts_with("401 "));
}

TEST(ResourceServer, TimesHaveALittleLeeway) {
  EXPECT_EQ(with_claims(claims_with("exp", kNow - 29)), "alice");
  EXPECT_EQ(with_claims(claims_with("exp", kNow - 30)), "401 the token has expired");
  EXPECT_EQ(with_claims(claims_with("exp", -1e300)), "401 the token has expired");
  EXPECT_EQ(with_claims(claims_with("exp", "never")), "401 the token has no time of expiry");
  EXPECT_EQ(with_claims(claims_without("exp")), "401 the token has no time of expiry");
  EXPECT_EQ(with_claims(claims_with("nbf", kNow + 30)), "alice");
  EXPECT_EQ(with_claims(claims_with("nbf", kNow + 31)), "401 the token is not valid yet");
  EXPECT_EQ(with_claims(claims_with("nbf", "soon")), "401 the token is not valid yet");
  EXPECT_EQ(with_claims(claims_without("nbf")), "alice");
}

TEST(ResourceServer, TheIssuerIsTheOneConfigured) {
  for (const json& other : {json("https://evil.example.com"), json("https://login.example.com/"),
                            json("HTTPS://login.example.com"), json(nullptr), json({kIssuer})}) {
    EXPECT_EQ(with_claims(claims_with("iss", other)), "401 the token is of another issuer");
  }
  EXPECT_EQ(with_claims(claims_without("iss")), "401 the token is of another issuer");
}

TEST(ResourceServer, TheAudienceIsThisServer) {
  for (const json& right :
       {json(kResource), json("https://hutch.example.com/mcp/"),
        json("HTTPS://Hutch.Example.COM/mcp"), json("https://hutch.example.com:443/mcp"),
        json({"https://other.example.com", kResource})}) {
    EXPECT_EQ(with_claims(claims_with("aud", right)), "alice") << right;
  }
  for (const json& wrong :
       {json("https://hutch.example.com"), json("https://hutch.example.com/MCP"),
        json("http://hutch.example.com/mcp"), json("https://hutch.example.com/mcp//"),
        json("https://hutch.example.com:8443/mcp"), json("https://hutch.example.com/mcp?x"),
        json("https://hutch.example.com.evil.com/mcp"),
        json("https://evil.com/https://hutch.example.com/mcp"), json(""), json(nullptr),
        json(json::array()), json({1, 2}), json({{"aud", kResource}})}) {
    EXPECT_EQ(with_claims(claims_with("aud", wrong)), "401 the token is for another audience")
        << wrong;
  }
  EXPECT_EQ(with_claims(claims_without("aud")), "401 the token is for another audience");
}

TEST(ResourceServer, ASubjectIsNeeded) {
  for (const json& wrong : {json(""), json(5), json(nullptr), json(std::string(1025, 's'))}) {
    EXPECT_EQ(with_claims(claims_with("sub", wrong)), "401 the token has no subject");
  }
  EXPECT_EQ(with_claims(claims_without("sub")), "401 the token has no subject");
}

TEST(ResourceServer, AllScopesAreNeeded) {
  EXPECT_EQ(with_claims(claims_with("scope", "mcp")), "alice");
  EXPECT_EQ(with_claims(claims_with("scope", " extra  mcp ")), "alice");
  json listed = claims_without("scope");
  listed["scp"] = {"mcp"};
  EXPECT_EQ(with_claims(listed), "alice");
  for (const json& wrong : {json(""), json("mcpx"), json("MCP"), json("mcp2 2mcp"), json(7)}) {
    EXPECT_EQ(with_claims(claims_with("scope", wrong)),
              "403 the token lacks a scope that is needed");
  }
  EXPECT_TRUE(outcome(key_set({rsa().jwk()}), rsa().token(good_claims()), [](auto& options) {
                options.scopes = {"mcp", "admin"};
              }).starts_with("403 "));
}

TEST(ResourceServer, GarbageIsRefused) {
  const std::string keys = key_set({rsa().jwk()});
  const std::string token = rsa().token(good_claims());
  const std::string deep = std::string(10'000, '[');
  for (const std::string& wrong :
       {std::string(), std::string("."), std::string(".."), std::string("..."),
        std::string("a.b.c"), token + ".x", token + ".", "." + token, token.substr(1),
        std::string(16384, '.'), std::string(16384, 'A'),
        to_base64url(deep) + "." + to_base64url(deep) + ".AAAA",
        to_base64url("[]") + "." + to_base64url("[]") + ".AAAA",
        to_base64url("{\"alg\":\"RS256\"}") + "." + to_base64url("\xff\xfe") + ".AAAA",
        std::string("\0.\0.\0", 5)}) {
    EXPECT_TRUE(outcome(keys, wrong).starts_with("401 ")) << wrong.substr(0, 40);
  }
}

TEST(ResourceServer, WithoutKeysNobodyIsTurnedAwayForGood) {
  EXPECT_TRUE(outcome("not json", rsa().token(good_claims())).starts_with("503 "));
  EXPECT_TRUE(outcome(R"({"keys":[]})", rsa().token(good_claims())).starts_with("503 "));
}

TEST(ResourceServer, TheMetadataSaysWhereToGo) {
  const ResourceServer server(
      {kIssuer, kResource, {"mcp"}}, [] { return std::string(); }, [](const std::string&) {});
  EXPECT_EQ(server.metadata(), (json{{"resource", kResource},
                                     {"resource_name", "hutch"},
                                     {"authorization_servers", {kIssuer}},
                                     {"bearer_methods_supported", {"header"}},
                                     {"scopes_supported", {"mcp"}}}));
  EXPECT_EQ(server.metadata_paths(),
            (std::vector<std::string>{"/.well-known/oauth-protected-resource",
                                      "/.well-known/oauth-protected-resource/mcp"}));
  EXPECT_EQ(server.challenges().no_token().www_authenticate,
            "Bearer realm=\"hutch\", scope=\"mcp\", resource_metadata=\"https://hutch.example.com/"
            ".well-known/oauth-protected-resource/mcp\"");
  const ResourceServer root(
      {kIssuer, "https://hutch.example.com/", {}}, [] { return std::string(); },
      [](const std::string&) {});
  EXPECT_EQ(root.metadata_paths().size(), 1U);
  EXPECT_FALSE(root.metadata().contains("scopes_supported"));
}

TEST(ResourceServer, WrongOptionsAreNamed) {
  const auto refusal = [](ResourceServerOptions options) {
    const auto found = check_options(options);
    return found ? found->why : "accepted";
  };
  EXPECT_EQ(refusal({kIssuer, kResource, {}}), "accepted");
  EXPECT_EQ(refusal({"http://localhost:9000", "http://127.0.0.1:8931/mcp", {}}), "accepted");
  EXPECT_TRUE(refusal({"", kResource, {}}).starts_with("issuer"));
  EXPECT_TRUE(refusal({"http://login.example.com", kResource, {}}).starts_with("issuer"));
  EXPECT_TRUE(refusal({kIssuer, "hutch.example.com/mcp", {}}).starts_with("resource"));
  EXPECT_TRUE(refusal({kIssuer, "http://hutch.example.com/mcp", {}}).starts_with("resource"));
  EXPECT_TRUE(refusal({kIssuer, "https://h/mcp\"", {}}).starts_with("resource"));
  EXPECT_TRUE(refusal({kIssuer, "https://h/mcp?x", {}}).starts_with("resource"));
  EXPECT_TRUE(refusal({kIssuer, kResource, {"a b"}}).starts_with("a scope"));
  EXPECT_TRUE(refusal({kIssuer, kResource, {}, {}}).starts_with("algorithms"));
}

}  // namespace
