// Bearer tokens: made, used, bounded writes, revoked by another process, upgraded databases.
#include "sessions/token_table.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/random_id.h"
#include "sessions/migrations.h"
#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;
namespace fs = std::filesystem;

class TokenTableTest : public testing::StoreFixture {
 protected:
  static constexpr std::int64_t kNow = 1'800'000'000'000;

  Token wanted(const std::string& name = "") {
    Token token;
    token.id = base::random_id("token_");
    token.principal_id = principal_;
    if (!name.empty()) token.name = name;
    token.created_at = kNow;
    return token;
  }
  std::string new_secret() { return store_->tokens.create(wanted()).value(); }
};

TEST_F(TokenTableTest, ASecretIsGoodForItsPrincipal) {
  Token made = wanted("laptop");
  made.scopes = {"read", "more"};
  const std::string secret = store_->tokens.create(made).value();
  const Token used = store_->tokens.use(secret, kNow).value();
  EXPECT_EQ(used.id, made.id);
  EXPECT_EQ(used.principal_id, made.principal_id);
  EXPECT_EQ(used.principal_name, "p");
  EXPECT_EQ(used.name, "laptop");
  EXPECT_EQ(used.scopes, made.scopes);
}

TEST_F(TokenTableTest, SecretsAreLongRecognisableAndDiffer) {
  std::set<std::string> halves;
  for (int i = 0; i < 20; ++i) {
    const std::string secret = new_secret();
    ASSERT_EQ(secret.size(), 6U + 96U);
    EXPECT_TRUE(secret.starts_with(kTokenPrefix));
    EXPECT_EQ(secret.substr(6).find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(halves.insert(secret.substr(38, 32)).second);
    EXPECT_TRUE(halves.insert(secret.substr(70, 32)).second);
  }
}

TEST_F(TokenTableTest, WhatIsNoSecretIsRefusedInOneWay) {
  const std::string secret = new_secret();
  std::string expected;
  std::vector<std::string> wrong = {"",
                                    "x",
                                    "hutch_",
                                    secret.substr(0, 101),
                                    secret + "0",
                                    std::string(102, '0'),
                                    std::string(100'000, 'a'),
                                    "hutch_" + std::string(96, '0'),
                                    std::string("\0\xff", 2)};
  // Every single digit counts: also those beside the id.
  for (std::size_t at = 0; at < secret.size(); ++at) {
    std::string other = secret;
    other[at] = other[at] == 'f' ? '0' : 'f';
    wrong.push_back(other);
  }
  for (const std::string& one : wrong) {
    if (one == secret) continue;
    const auto used = store_->tokens.use(one, kNow);
    ASSERT_FALSE(used.ok()) << one;
    EXPECT_EQ(used.error().kind, Kind::kNotFound);
    if (expected.empty()) expected = used.error().message;
    EXPECT_EQ(used.error().message, expected);
  }
  EXPECT_TRUE(store_->tokens.use(secret, kNow).ok());
}

TEST_F(TokenTableTest, TheFileDoesNotHoldTheSecret) {
  const std::string secret = new_secret();
  ASSERT_TRUE(store_->tokens.use(secret, kNow).ok());
  std::string all;
  for (const auto& entry : fs::directory_iterator(directory_)) {
    std::ifstream file(entry.path(), std::ios::binary);
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_NE(all.find(secret.substr(6, 32)), std::string::npos) << "the id is there";
  EXPECT_EQ(all.find(secret.substr(38, 32)), std::string::npos);
  EXPECT_EQ(all.find(secret.substr(70)), std::string::npos);
}

TEST_F(TokenTableTest, ExpiryIsAnEnd) {
  Token token = wanted();
  token.expires_at = kNow + 1000;
  const std::string secret = store_->tokens.create(token).value();
  EXPECT_TRUE(store_->tokens.use(secret, kNow + 999).ok());
  const auto late = store_->tokens.use(secret, kNow + 1000);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().message, store_->tokens.use("x", kNow).error().message);
}

TEST_F(TokenTableTest, RevocationIsSeenByOtherServersAtOnce) {
  const std::string secret = new_secret();
  const auto server = Store::open(path()).value();
  ASSERT_TRUE(server->tokens.use(secret, kNow).ok());
  const auto token = store_->tokens.revoke("token_" + secret.substr(6, 32), kNow);
  ASSERT_TRUE(token.ok());
  EXPECT_FALSE(server->tokens.use(secret, kNow).ok());
  EXPECT_TRUE(server->tokens.list().value().empty());
  EXPECT_EQ(store_->tokens.revoke(token.value().id, kNow).error().kind, Kind::kNotFound);
}

TEST_F(TokenTableTest, OneIsRevokedByNameByIdOrBySecret) {
  ASSERT_TRUE(store_->tokens.create(wanted("one")).ok());
  const std::string two = store_->tokens.create(wanted("two")).value();
  const std::string also_two = store_->tokens.create(wanted("two")).value();
  EXPECT_EQ(store_->tokens.revoke("two", kNow).error().kind, Kind::kConflict);
  EXPECT_EQ(store_->tokens.revoke("three", kNow).error().kind, Kind::kNotFound);
  EXPECT_TRUE(store_->tokens.revoke("one", kNow).ok());
  EXPECT_TRUE(store_->tokens.revoke(two, kNow).ok());
  EXPECT_FALSE(store_->tokens.use(two, kNow).ok());
  EXPECT_TRUE(store_->tokens.use(also_two, kNow).ok());
  EXPECT_TRUE(store_->tokens.revoke("two", kNow).ok()) << "the only one by now";
}

TEST_F(TokenTableTest, UseIsWrittenOnceAMinute) {
  const std::string secret = new_secret();
  ASSERT_TRUE(store_->tokens.use(secret, kNow).ok());
  for (int i = 1; i < 50; ++i) ASSERT_TRUE(store_->tokens.use(secret, kNow + i * 1000).ok());
  EXPECT_EQ(number_of("SELECT last_used_at FROM tokens"), kNow);
  ASSERT_TRUE(store_->tokens.use(secret, kNow + kTokenUseMs).ok());
  EXPECT_EQ(number_of("SELECT last_used_at FROM tokens"), kNow + kTokenUseMs);
}

TEST_F(TokenTableTest, ARefusedSecretWritesNothing) {
  const std::string secret = new_secret();
  ASSERT_TRUE(store_->tokens.revoke(secret, kNow).ok());
  (void)store_->tokens.use(secret, kNow);
  EXPECT_EQ(number_of("SELECT count(*) FROM tokens WHERE last_used_at IS NOT NULL"), 0);
}

TEST_F(TokenTableTest, MakingAndRevokingAreInTheAudit) {
  ASSERT_TRUE(store_->tokens.revoke(new_secret(), kNow).ok());
  EXPECT_EQ(number_of("SELECT count(*) FROM audit WHERE action = 'create_token'"), 1);
  EXPECT_EQ(number_of("SELECT count(*) FROM audit WHERE action = 'revoke_token'"), 1);
}

TEST_F(TokenTableTest, AnIdThatIsNotRandomIsRefused) {
  Token token = wanted();
  for (const char* id : {"token_1", "token", "", "x"}) {
    token.id = id;
    EXPECT_FALSE(store_->tokens.create(token).ok()) << id;
  }
}

TEST_F(TokenTableTest, ATokenNeedsItsPrincipalAndAnIdOfItsOwn) {
  Token nobodys = wanted();
  nobodys.principal_id = "nobody";
  EXPECT_FALSE(store_->tokens.create(nobodys).ok());
  const Token token = wanted();
  const std::string secret = store_->tokens.create(token).value();
  EXPECT_FALSE(store_->tokens.create(token).ok());
  EXPECT_TRUE(store_->tokens.use(secret, kNow).ok()) << "the first one stays as it is";
  EXPECT_EQ(number_of("SELECT count(*) FROM audit WHERE action = 'create_token'"), 1);
}

TEST_F(TokenTableTest, AListHasWhatIsNotRevokedTheOldestFirst) {
  EXPECT_TRUE(store_->tokens.list().value().empty());
  Token late = wanted();
  late.created_at = kNow + 5;
  Token first = wanted("over");
  Token second = wanted();
  first.id = "token_" + std::string(31, '0') + "1";
  second.id = "token_" + std::string(31, '0') + "2";
  second.principal_id = store_->principals.ensure("q").value();
  first.expires_at = 1;
  first.scopes = {"read", "more"};
  const Token revoked = wanted();
  for (const Token& token : {late, second, revoked, first}) {
    ASSERT_TRUE(store_->tokens.create(token).ok());
  }
  ASSERT_TRUE(store_->tokens.revoke(revoked.id, kNow).ok());
  const auto listed = store_->tokens.list().value();
  ASSERT_EQ(ids_in(listed), (std::vector<std::string>{first.id, second.id, late.id}));
  EXPECT_EQ(listed[0].principal_name, "p");
  EXPECT_EQ(listed[0].principal_id, principal_);
  EXPECT_EQ(listed[0].name, "over");
  EXPECT_EQ(listed[0].scopes, first.scopes);
  EXPECT_EQ(listed[0].created_at, kNow);
  EXPECT_EQ(listed[0].expires_at, 1) << "one whose time is over is listed";
  EXPECT_FALSE(listed[0].last_used_at || listed[0].revoked_at);
  EXPECT_EQ(listed[1].principal_name, "q");
  EXPECT_FALSE(listed[1].name || listed[1].expires_at);
  EXPECT_TRUE(listed[1].scopes.empty());
}

TEST_F(TokenTableTest, AUseIsThatOfTheTokenAlone) {
  const std::string secret = new_secret();
  new_secret();
  EXPECT_FALSE(store_->tokens.use(secret, kNow).value().last_used_at) << "until then";
  EXPECT_EQ(store_->tokens.use(secret, kNow + 1).value().last_used_at, kNow);
  EXPECT_EQ(number_of("SELECT count(*) FROM tokens WHERE last_used_at IS NOT NULL"), 1);
  ASSERT_TRUE(store_->tokens.use(secret, kNow + kTokenUseMs - 1).ok());
  EXPECT_EQ(number_of("SELECT max(last_used_at) FROM tokens"), kNow);
}

TEST_F(TokenTableTest, RevocationSaysWhichOneAndWhenAndTheOperatorHears) {
  listen();
  const Token token = wanted("laptop");
  ASSERT_TRUE(store_->tokens.create(token).ok());
  const Token revoked = store_->tokens.revoke("laptop", kNow + 5).value();
  EXPECT_EQ(revoked.id, token.id);
  EXPECT_EQ(revoked.revoked_at, kNow + 5);
  EXPECT_EQ(number_of("SELECT revoked_at FROM tokens"), kNow + 5);
  ASSERT_EQ(heard_.size(), 2U);
  EXPECT_EQ(heard_[0].message, "token " + token.id + " made");
  EXPECT_EQ(heard_[1].message, "token " + token.id + " taken back");
  EXPECT_EQ(heard_[1].principal_id, principal_);
}

TEST(TokenMigration, ADatabaseOfTheFirstVersionKeepsWhatItHas) {
  std::string directory = ::testing::TempDir() + "hutch_upgrade_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  {
    const auto old = Database::open(directory + "/hutch.db").value();
    ASSERT_TRUE(migrate(*old, migrations().first(1)).ok());
    ASSERT_TRUE(old->execute("INSERT INTO principals VALUES ('principal_x', 'local', 1)").ok());
    EXPECT_FALSE(old->prepare("SELECT * FROM tokens").ok());
  }
  const auto store = Store::open(directory + "/hutch.db").value();
  EXPECT_EQ(store->principals.ensure("local").value(), "principal_x");
  EXPECT_TRUE(store->tokens.list().value().empty());
  fs::remove_all(directory);
}

}  // namespace
}  // namespace sessions
