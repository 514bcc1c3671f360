// Principals: one for each name, whoever asks first.
#include "sessions/principal_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

using PrincipalTableTest = testing::StoreFixture;

TEST_F(PrincipalTableTest, PrincipalsAreMadeOnce) {
  EXPECT_EQ(store_->principals.ensure("p").value(), principal_);
  EXPECT_NE(store_->principals.ensure("q").value(), principal_);
}

TEST_F(PrincipalTableTest, NamesAreTheSameByteByByteAlone) {
  std::set<std::string> ids = {principal_};
  for (const char* name : {"P", "p ", "", "%", "p\u0301"}) {
    EXPECT_TRUE(ids.insert(store_->principals.ensure(name).value()).second) << name;
  }
  EXPECT_TRUE(base::is_random_id(principal_, "principal_")) << principal_;
  EXPECT_EQ(number_of("SELECT count(*) FROM principals"), 6);
}

TEST_F(PrincipalTableTest, ServersThatAskAtOnceAreToldTheSame) {
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < 4; ++i) stores.push_back(Store::open(path()).value());
  std::vector<std::string> told(stores.size());
  {
    std::vector<std::jthread> servers;
    for (std::size_t i = 0; i < stores.size(); ++i) {
      servers.emplace_back([&, i] { told[i] = stores[i]->principals.ensure("new").value(); });
    }
  }
  EXPECT_EQ(std::set<std::string>(told.begin(), told.end()).size(), 1U);
  EXPECT_EQ(store_->principals.ensure("new").value(), told[0]);
}

}  // namespace
}  // namespace sessions
