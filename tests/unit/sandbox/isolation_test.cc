// A box tells its layers and grants as JSON; what is no such thing is refused, not taken for
// nothing.
#include "sandbox/isolation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
using sandbox::Isolation;

Isolation whole() {
  Isolation isolation{.namespaces = {"user", "net"},
                      .ids = "own id on the host",
                      .memory = "cgroup v2",
                      .python = sandbox::kForkedFromZygote};
  isolation.host_folders = {{"docs", "/srv/docs", true, {"x"}, 1, 2}};
  isolation.network = {sandbox::parse_network_rule("api.example.com").value()};
  sandbox::Credential credential;
  credential.name = "key";
  credential.host = isolation.network.front();
  isolation.credentials = {credential};
  return isolation;
}

TEST(IsolationTest, ItIsReadAsItWasWritten) {
  EXPECT_EQ(sandbox::isolation_from_json(isolation_to_json(whole())).value(), whole());
  EXPECT_EQ(sandbox::isolation_from_json(json::object()).value(), Isolation());
}

TEST(IsolationTest, ClientsSeeItsLayersAndNoPathOfTheHost) {
  EXPECT_EQ(sandbox::layers_to_json(whole()), json({{"namespaces", {"user", "net"}},
                                                    {"ids", "own id on the host"},
                                                    {"memory", "cgroup v2"},
                                                    {"python", "forked from the zygote"}}));
  EXPECT_EQ(sandbox::layers_to_json({}), json::object())
      << "nothing is said of what its box did not say";
}

TEST(IsolationTest, WordsThatAreNoTextAreNotSaid) {
  const json odd{{"memory", 1}, {"cpus", nullptr}, {"namespaces", {"user", 7}}, {"else", "x"}};
  EXPECT_EQ(sandbox::isolation_from_json(odd).value(), Isolation{.namespaces = {"user"}});
}

TEST(IsolationTest, GrantsThatNobodyUnderstandsAreNotNone) {
  for (const json& value :
       {json(), json(7), json::array({"memory"}), json{{"host_folders", "of another hutch"}},
        json{{"network", {7}}}, json{{"credentials", {{"name", "key"}}}}}) {
    EXPECT_FALSE(sandbox::isolation_from_json(value).ok()) << value;
  }
}

}  // namespace
