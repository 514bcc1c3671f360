// Who asks: by a token of the store, or by one of an authorization server.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/random_id.h"
#include "sessions/principal_table.h"
#include "sessions/store.h"
#include "sessions/token_table.h"
#include "tests/unit/mcp/auth/signing_key.h"
#include "tools/authentication.h"
#include "tools/cli/config_file.h"
#include "tools/cli/oauth.h"

namespace {

using namespace tools;
using mcp::auth::Challenge;
using mcp::auth::SigningKey;
using nlohmann::json;
namespace fs = std::filesystem;

class AuthenticationTest : public testing::Test {
 protected:
  AuthenticationTest() : directory_(::testing::TempDir() + "hutch_authentication_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    store_ = sessions::Store::open(directory_ + "/hutch.db").value();
    key_file_ = directory_ + "/jwks.json";
    std::ofstream(key_file_) << mcp::auth::key_set({key().jwk()});
  }
  ~AuthenticationTest() override { fs::remove_all(directory_); }

  static const SigningKey& key() {
    static const SigningKey kKey = SigningKey::ed25519();
    return kKey;
  }

  cli::OauthSettings settings() {
    cli::OauthSettings settings;
    settings.issuer = "https://login.example.com";
    settings.resource = "https://hutch.example.com/mcp";
    settings.jwks_file = key_file_;
    return settings;
  }

  mcp::auth::Authenticator authenticator(bool with_oauth) {
    std::shared_ptr<mcp::auth::ResourceServer> oauth;
    const auto on_fault = [this](const std::string& what) { faults_ += what; };
    if (with_oauth) oauth = cli::make_resource_server(settings(), on_fault).value();
    return make_authenticator(store_->principals, store_->tokens, oauth, on_fault);
  }

  std::string token(const std::string& principal, const std::vector<std::string>& scopes = {}) {
    sessions::Token token;
    token.id = base::random_id("token_");
    token.principal_id = store_->principals.ensure(principal).value();
    token.scopes = scopes;
    token.created_at = base::now_ms();
    return store_->tokens.create(token).value();
  }

  static std::string jwt(const std::string& subject) {
    return key().token({{"iss", "https://login.example.com"},
                        {"sub", subject},
                        {"aud", "https://hutch.example.com/mcp"},
                        {"exp", base::now_ms() / 1000 + 60}});
  }

  // The principal, or the status as "401".
  static std::string who(const mcp::auth::Authenticator& authenticate, const std::string& header) {
    const auto decision = authenticate(header);
    if (const auto* principal = std::get_if<mcp::Principal>(&decision)) return principal->id;
    return std::to_string(std::get<Challenge>(decision).status);
  }

  std::string directory_;
  std::string key_file_;
  std::string faults_;
  std::unique_ptr<sessions::Store> store_;
};

TEST_F(AuthenticationTest, ATokenActsForItsPrincipal) {
  const auto authenticate = authenticator(false);
  const auto decision = authenticate("Bearer " + token("alice", {"read"}));
  const auto& principal = std::get<mcp::Principal>(decision);
  EXPECT_EQ(principal.id, store_->principals.ensure("alice").value());
  EXPECT_EQ(principal.scopes, std::vector<std::string>{"read"});
}

TEST_F(AuthenticationTest, WithoutAGoodTokenNobodyComesIn) {
  const auto authenticate = authenticator(false);
  EXPECT_EQ(who(authenticate, ""), "401");
  EXPECT_EQ(who(authenticate, token("alice")), "401") << "without the scheme";
  EXPECT_EQ(who(authenticate, "Basic " + token("alice")), "401");
  EXPECT_EQ(who(authenticate, "Bearer"), "400");
  EXPECT_EQ(who(authenticate, "Bearer hutch_" + std::string(96, '0')), "401");
  EXPECT_EQ(who(authenticate, "Bearer " + jwt("alice")), "401") << "no server is configured";
  const auto challenge = std::get<Challenge>(authenticate(""));
  EXPECT_EQ(challenge.www_authenticate, "Bearer realm=\"hutch\"");
}

TEST_F(AuthenticationTest, ARevokedTokenIsRefusedAtOnce) {
  const auto authenticate = authenticator(false);
  const std::string secret = token("alice");
  EXPECT_EQ(who(authenticate, "Bearer " + secret).substr(0, 10), "principal_");
  const auto other_process = sessions::Store::open(directory_ + "/hutch.db").value();
  ASSERT_TRUE(other_process->tokens.revoke(secret, base::now_ms()).ok());
  EXPECT_EQ(who(authenticate, "Bearer " + secret), "401");
}

TEST_F(AuthenticationTest, TheAuthorizationServersTokensAreTakenBesideOurs) {
  const auto authenticate = authenticator(true);
  const std::string alice = who(authenticate, "Bearer " + jwt("alice"));
  EXPECT_EQ(alice.substr(0, 10), "principal_") << faults_;
  EXPECT_EQ(who(authenticate, "Bearer " + jwt("alice")), alice) << "the same each time";
  EXPECT_NE(who(authenticate, "Bearer " + jwt("bob")), alice);
  EXPECT_EQ(who(authenticate, "Bearer " + token("carol")),
            store_->principals.ensure("carol").value());
  EXPECT_EQ(who(authenticate, "Bearer " + jwt("alice") + "A"), "401");
  EXPECT_EQ(who(authenticate, ""), "401");
  const auto challenge = std::get<Challenge>(authenticate(""));
  EXPECT_NE(challenge.www_authenticate.find("resource_metadata="), std::string::npos);
}

TEST_F(AuthenticationTest, SubjectsAndNamesNeverMeet) {
  const auto authenticate = authenticator(true);
  const std::string ours = store_->principals.ensure("alice").value();
  EXPECT_NE(who(authenticate, "Bearer " + jwt("alice")), ours);
  EXPECT_NE(who(authenticate, "Bearer " + jwt("local")),
            store_->principals.ensure("local").value());
  // Subjects that try to end the name early stay what they are.
  std::set<std::string> ids;
  for (const char* subject :
       {"a", "a\"]", "a\",\"b", "a\\", "a\\\"", "[\"a\"]", "\xc3\xa4", "a "}) {
    EXPECT_TRUE(ids.insert(who(authenticate, "Bearer " + jwt(subject))).second) << subject;
  }
  EXPECT_TRUE(ids.insert(who(authenticate, "Bearer " + jwt(std::string("a\0b", 3)))).second);
}

TEST_F(AuthenticationTest, AKeyFileThatIsNotThereIsReported) {
  fs::remove(key_file_);
  EXPECT_EQ(who(authenticator(true), "Bearer " + jwt("alice")), "503");
  EXPECT_NE(faults_.find(key_file_), std::string::npos) << faults_;
}

std::string setting_refusal(const cli::OauthSettings& settings) {
  const auto made = cli::make_resource_server(settings, [](const std::string&) {});
  return made.ok() ? "accepted" : made.error().message;
}

TEST_F(AuthenticationTest, WrongSettingsAreNamed) {
  EXPECT_EQ(setting_refusal(settings()), "accepted");
  auto wrong = settings();
  wrong.jwks_uri = "https://login.example.com/jwks";
  EXPECT_NE(setting_refusal(wrong).find("one of jwks_uri and jwks_file"), std::string::npos);
  wrong.jwks_file.clear();
  EXPECT_EQ(setting_refusal(wrong), "accepted");
  wrong.jwks_uri = "http://login.example.com/jwks";
  EXPECT_NE(setting_refusal(wrong).find("jwks_uri must begin with https://"), std::string::npos);
  wrong.jwks_uri.clear();
  EXPECT_NE(setting_refusal(wrong).find("is needed"), std::string::npos);
  wrong = settings();
  wrong.algorithms = {"RS256", "HS256"};
  EXPECT_NE(setting_refusal(wrong).find("not HS256"), std::string::npos);
  wrong = settings();
  wrong.issuer.clear();
  EXPECT_NE(setting_refusal(wrong).find("issuer"), std::string::npos);
}

TEST_F(AuthenticationTest, SettingsComeFromTheConfigurationFile) {
  const std::string path = directory_ + "/config.toml";
  const auto read = [&path](const std::string& text) {
    std::ofstream(path) << text;
    cli::Settings settings;
    const auto status = cli::read_config_file(path, settings);
    if (!status.ok()) return status.error().message;
    return settings.oauth ? settings.oauth->issuer + " " + settings.oauth->resource + " " +
                                settings.oauth->jwks_uri + " " +
                                std::to_string(settings.oauth->scopes.size()) + " " +
                                std::to_string(settings.oauth->algorithms.size())
                          : "none";
  };
  EXPECT_EQ(read("log_level = \"info\"\n"), "none");
  EXPECT_EQ(read("[oauth]\nissuer = \"i\"\nresource = \"r\"\njwks_uri = \"u\"\n"
                 "scopes = [\"a\", \"b\"]\nalgorithms = [\"ES256\"]\n"),
            "i r u 2 1");
  EXPECT_NE(read("[oauth]\nisuer = \"i\"\n").find(":2: unknown key oauth.isuer"),
            std::string::npos);
  EXPECT_NE(read("[oauth]\nissuer = 1\n").find("issuer must be a string"), std::string::npos);
  EXPECT_NE(read("[oauth]\nscopes = \"a\"\n").find("array of strings"), std::string::npos);
  EXPECT_NE(read("[oauth]\nscopes = [1]\n").find("each of scopes must be a string"),
            std::string::npos);
  EXPECT_NE(read("oauth = 1\n").find("must be a table"), std::string::npos);
}

}  // namespace
