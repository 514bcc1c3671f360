// Credentials: one for each name, as it was put last, and what they belong to.
#include "sessions/credential_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;
using sandbox::Credential;

class CredentialTableTest : public testing::StoreFixture {
 protected:
  static StoredCredential stored(const std::string& name, const std::string& host = "a.test") {
    StoredCredential credential;
    credential.credential.name = name;
    credential.credential.host = sandbox::parse_network_rule(host).value();
    credential.source = "value";
    credential.sealed = "sealed " + name;
    return credential;
  }
  void put(const StoredCredential& credential) {
    ASSERT_TRUE(store_->credentials.put(credential).ok());
  }
  std::vector<std::string> listed() {
    std::vector<std::string> names;
    for (const StoredCredential& one : store_->credentials.list().value()) {
      names.push_back(one.credential.name);
    }
    return names;
  }
};

TEST_F(CredentialTableTest, ACredentialComesBackAsItWent) {
  for (const char* host : {"a.test", "*.a.test", "a.test:8080"}) {
    for (const char* place : {"bearer", "basic", "header:X-Key", "query:key", "sigv4"}) {
      StoredCredential wanted = stored("key", host);
      ASSERT_TRUE(sandbox::take_place(place, wanted.credential).ok());
      wanted.credential.allows_plain = wanted.credential.host.port == 8080;
      wanted.source = "command";
      wanted.updated_at = 7;
      put(wanted);
      for (const StoredCredential& back :
           {store_->credentials.find("key").value(), store_->credentials.list().value().at(0)}) {
        EXPECT_EQ(back.credential, wanted.credential) << host << " " << place;
        EXPECT_EQ(back.source, "command");
        EXPECT_EQ(back.sealed, "sealed key");
        EXPECT_EQ(back.updated_at, 7);
      }
    }
  }
}

TEST_F(CredentialTableTest, TheLastOfANameTakesThePlaceOfTheOneBefore) {
  put(stored("key"));
  put(stored("other"));
  StoredCredential second = stored("key", "b.test");
  second.sealed = "another";
  put(second);
  EXPECT_EQ(listed(), (std::vector<std::string>{"key", "other"}));
  EXPECT_EQ(store_->credentials.find("key").value().sealed, "another");
  EXPECT_EQ(store_->credentials.find("key").value().credential.host.host, "b.test");
  EXPECT_EQ(store_->credentials.find("other").value().sealed, "sealed other");
}

TEST_F(CredentialTableTest, OneThatIsRefusedLeavesTheOneBefore) {
  put(stored("key"));
  StoredCredential wrong = stored("key", "b.test");
  wrong.source = "elsewhere";
  EXPECT_FALSE(store_->credentials.put(wrong).ok());
  EXPECT_EQ(store_->credentials.find("key").value().credential.host.host, "a.test");
}

TEST_F(CredentialTableTest, TheyAreListedByTheirNames) {
  EXPECT_TRUE(listed().empty());
  for (const char* name : {"b", "c", "a"}) put(stored(name));
  EXPECT_EQ(listed(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(CredentialTableTest, OneThatIsNotThereIsNamed) {
  put(stored("key"));
  const auto unknown = store_->credentials.find("ke");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, Kind::kNotFound);
  EXPECT_TRUE(unknown.error().message.starts_with("there is no credential ke;"))
      << unknown.error().message;
  EXPECT_EQ(store_->credentials.remove("ke").error().message, unknown.error().message);
  EXPECT_EQ(listed(), std::vector<std::string>{"key"});
}

TEST_F(CredentialTableTest, OneIsRemovedOnceAndAlone) {
  put(stored("key"));
  put(stored("other"));
  EXPECT_TRUE(store_->credentials.remove("key").ok());
  EXPECT_EQ(store_->credentials.remove("key").error().kind, Kind::kNotFound);
  EXPECT_EQ(store_->credentials.find("key").error().kind, Kind::kNotFound);
  EXPECT_EQ(listed(), std::vector<std::string>{"other"});
}

}  // namespace
}  // namespace sessions
