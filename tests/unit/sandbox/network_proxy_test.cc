#include "sandbox/network_proxy.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using sandbox::goes_by;
using sandbox::NetworkProxy;

TEST(NetworkProxy, IsForAllButWhatGoesDirectly) {
  const NetworkProxy proxy{"proxy.test", 3128, "", {".internal", "here.test", "10.0.0.1", "."}};
  for (const char* host : {"internal", "a.internal", "here.test", "b.here.test", "10.0.0.1"}) {
    EXPECT_FALSE(goes_by(proxy, host)) << host;
  }
  for (const char* host : {"example.com", "notinternal", "nothere.test", "110.0.0.1", "test"}) {
    EXPECT_TRUE(goes_by(proxy, host)) << host;
  }
  EXPECT_FALSE(goes_by({"proxy.test", 3128, "", {"*"}}, "example.com"));
  EXPECT_FALSE(goes_by({}, "example.com"));
}

TEST(NetworkProxy, TravelsAsJson) {
  const NetworkProxy proxy{"proxy.test", 3128, "Basic eA==", {"a", ".b"}};
  EXPECT_EQ(sandbox::proxy_from_json(proxy_to_json(proxy)).value(), proxy);
  EXPECT_EQ(sandbox::proxy_from_json(nullptr).value(), NetworkProxy{});
  for (const char* wrong :
       {"1", "{}", R"({"host":"a"})", R"({"host":"a","port":0})", R"({"host":"a","port":65536})",
        R"({"host":"","port":1})", R"({"host":"a","port":1,"direct":[1]})"}) {
    EXPECT_FALSE(sandbox::proxy_from_json(nlohmann::json::parse(wrong)).ok()) << wrong;
  }
}

}  // namespace
