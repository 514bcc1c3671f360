// Keys: which are usable, and when they are read again.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <nlohmann/json.hpp>

#include "mcp/auth/key_source.h"
#include "tests/unit/mcp/auth/signing_key.h"

namespace {

using namespace mcp::auth;
using namespace std::chrono_literals;
using nlohmann::json;

bool usable(const json& jwk) { return PublicKey::from_jwk(jwk).has_value(); }

json with(json jwk, const json& changes) {
  jwk.update(changes);
  return jwk;
}

TEST(PublicKey, OnlyKeysForTheseAlgorithmsAreUsable) {
  for (const SigningKey& key : {SigningKey::rsa(), SigningKey::ec(), SigningKey::ed25519()}) {
    const json jwk = key.jwk();
    EXPECT_TRUE(usable(jwk));
    EXPECT_TRUE(usable(with(jwk, {{"key_ops", {"verify"}}})));
    EXPECT_FALSE(usable(with(jwk, {{"use", "enc"}})));
    EXPECT_FALSE(usable(with(jwk, {{"key_ops", {"encrypt"}}})));
    EXPECT_FALSE(usable(with(jwk, {{"key_ops", "verify"}})));
    EXPECT_FALSE(usable(with(jwk, {{"alg", "PS256"}})));
    EXPECT_FALSE(usable(with(jwk, {{"alg", 1}})));
    EXPECT_FALSE(usable(with(jwk, {{"kty", "oct"}, {"k", "AAAA"}})));
  }
}

TEST(PublicKey, BrokenOnesAreNot) {
  const json rsa = SigningKey::rsa().jwk();
  const json ec = SigningKey::ec().jwk();
  const json ed = SigningKey::ed25519().jwk();
  EXPECT_FALSE(usable(with(rsa, {{"n", ""}})));
  EXPECT_FALSE(usable(with(rsa, {{"n", to_base64url(std::string(256, '\0'))}})));
  EXPECT_FALSE(usable(with(rsa, {{"n", to_base64url(std::string(4096, 'n'))}})));
  EXPECT_FALSE(usable(with(rsa, {{"e", "AA"}})));
  EXPECT_FALSE(usable(with(rsa, {{"e", to_base64url(std::string(9, 'e'))}})));
  EXPECT_FALSE(usable(with(rsa, {{"n", 5}})));
  EXPECT_FALSE(usable(SigningKey::rsa(1024).jwk())) << "too short";
  EXPECT_FALSE(usable(with(ec, {{"y", ec["x"]}}))) << "not on the curve";
  EXPECT_FALSE(usable(with(ec, {{"x", to_base64url(std::string(31, 'x'))}})));
  EXPECT_FALSE(usable(with(ec, {{"crv", "P-384"}})));
  EXPECT_FALSE(usable(SigningKey::ec("P-384").jwk()));
  EXPECT_FALSE(usable(with(ed, {{"x", to_base64url(std::string(33, 'x'))}})));
  EXPECT_FALSE(usable(with(ed, {{"crv", "X25519"}})));
  EXPECT_FALSE(usable(json::array()));
  EXPECT_FALSE(usable(nullptr));
  EXPECT_FALSE(usable({{"kty", 1}}));
}

TEST(KeySet, WhatIsOfNoUseIsPassedOver) {
  const auto keys = read_key_set(key_set({{{"kty", "oct"}, {"k", "AAAA"}},
                                          "nonsense",
                                          SigningKey::ec().jwk("a"),
                                          SigningKey::ec("P-384").jwk("b")}));
  ASSERT_TRUE(std::holds_alternative<std::vector<PublicKey>>(keys));
  ASSERT_EQ(std::get<0>(keys).size(), 1U);
  EXPECT_EQ(std::get<0>(keys)[0].id(), "a");
}

TEST(KeySet, WrongOnesAreRefused) {
  const std::string many = json{{"keys", json(kKeysMax + 1, json::object())}}.dump();
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), std::string(R"({"keys":{}})"),
        std::string(R"({"keys":[]})"), std::string(R"({"keys":[{}]})"), many,
        std::string(kKeySetBytesMax + 1, ' '), std::string("\xff")}) {
    EXPECT_TRUE(std::holds_alternative<Refusal>(read_key_set(text))) << text.substr(0, 40);
  }
}

// A source whose time and keys the test decides on.
class KeySourceTest : public testing::Test {
 protected:
  KeySourceTest()
      : source_(
            [this]() -> std::variant<std::string, Refusal> {
              ++fetches_;
              now_ += fetch_takes_;
              if (keys_.empty()) return Refusal{"down"};
              return keys_;
            },
            [this](const std::string& what) { fault_ = what; }, [this] { return now_; }) {}

  // How many keys could have signed; -1: there are none at all.
  int keys_for(const std::string& id) {
    Jwt jwt;
    jwt.algorithm = Algorithm::kEs256;
    jwt.key_id = id;
    const auto keys = source_.keys_for(jwt);
    return keys ? static_cast<int>(keys->size()) : -1;
  }

  std::atomic<int> fetches_ = 0;
  std::string keys_ = key_set({SigningKey::ec().jwk("old")});
  std::chrono::seconds fetch_takes_{0};
  std::string fault_;
  std::chrono::steady_clock::time_point now_{1000h};
  KeySource source_;
};

TEST_F(KeySourceTest, KeysAreReadOnceAndKept) {
  EXPECT_EQ(fetches_, 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(keys_for("old"), 1);
  EXPECT_EQ(fetches_, 1);
}

TEST_F(KeySourceTest, ARotatedKeyIsFound) {
  EXPECT_EQ(keys_for("old"), 1);
  keys_ = key_set({SigningKey::ec().jwk("new")});
  now_ += kFetchEvery;
  EXPECT_EQ(keys_for("new"), 1);
  EXPECT_EQ(keys_for("old"), 0) << "taken back by the issuer";
  EXPECT_EQ(fetches_, 2);
}

TEST_F(KeySourceTest, UnknownIdsReadThemAgainButNotOften) {
  EXPECT_EQ(keys_for("old"), 1);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(keys_for("guess" + std::to_string(i)), 0);
  EXPECT_EQ(fetches_, 1);
  now_ += kFetchEvery;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(keys_for("guess" + std::to_string(i)), 0);
  EXPECT_EQ(fetches_, 2);
}

TEST_F(KeySourceTest, OldKeysAreReadAgainAndServeMeanwhile) {
  EXPECT_EQ(keys_for("old"), 1);
  keys_.clear();
  now_ += kKeysFreshFor;
  EXPECT_EQ(keys_for("old"), 1) << "the server is down, the keys are good";
  EXPECT_EQ(fetches_, 2);
  EXPECT_NE(fault_.find("down"), std::string::npos);
  EXPECT_EQ(keys_for("old"), 1);
  EXPECT_EQ(fetches_, 2) << "not with every request";
  now_ += kKeysGoodFor;
  EXPECT_EQ(keys_for("old"), -1) << "not for ever";
}

TEST_F(KeySourceTest, AServerThatIsBackIsNoticedSoon) {
  const std::string good = keys_;
  keys_.clear();
  EXPECT_EQ(keys_for("old"), -1);
  EXPECT_EQ(keys_for("old"), -1);
  EXPECT_EQ(fetches_, 1);
  keys_ = good;
  now_ += kFirstFetchEvery;
  EXPECT_EQ(keys_for("old"), 1);
}

TEST_F(KeySourceTest, WhoWaitedForAFetchBeginsNoOther) {
  keys_.clear();
  fetch_takes_ = kFirstFetchEvery;
  EXPECT_EQ(keys_for("old"), -1);
  EXPECT_EQ(keys_for("old"), -1);
  EXPECT_EQ(fetches_, 1);
}

TEST_F(KeySourceTest, ManyThreadsReadThemOnce) {
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([this] {
        for (int n = 0; n < 50; ++n) EXPECT_EQ(keys_for("old"), 1);
      });
    }
  }
  EXPECT_EQ(fetches_, 1);
}

}  // namespace
