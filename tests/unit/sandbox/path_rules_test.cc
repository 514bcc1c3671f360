// Rules for paths of a session's own tree: plain ones alone, of which nothing depends on what is
// blocked.
#include "sandbox/path_rules.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace {

using base::Error;
using sandbox::check_path_rules;
using sandbox::has_plain_parts;
using sandbox::PathRules;

TEST(PathRules, PartsArePlainWhereEachHasANameOfItsOwn) {
  for (const char* below : {"a", "a/b", "a/b.c/...", ".a/..b", " "}) {
    EXPECT_TRUE(has_plain_parts(below)) << below;
  }
  for (const char* below : {"", "/", "a/", "/a", "a//b", ".", "a/./b", "..", "../a", "a/.."}) {
    EXPECT_FALSE(has_plain_parts(below)) << below;
  }
}

TEST(PathRules, WhatIsNoPlainPathIsRefusedByItsKey) {
  PathRules rules;
  for (const std::string& path :
       {std::string("workspace/a"), std::string("/workspace/../a"), std::string("/workspace/a/"),
        std::string("/"), std::string("/workspace/\0a", 13), "/" + std::string(1024, 'a')}) {
    rules.read_write = {path};
    const auto checked = check_path_rules(rules);
    ASSERT_FALSE(checked.ok()) << path;
    EXPECT_EQ(checked.error().kind, Error::Kind::kInvalid);
    EXPECT_TRUE(checked.error().message.starts_with("filesystem.read_write: "));
  }
}

TEST(PathRules, WhatIsNeededCannotBeBlocked) {
  PathRules rules;
  rules.blocked = {"/usr/bin"};
  EXPECT_FALSE(check_path_rules(rules).ok());
  rules.blocked = {"/workspace/a/b"};
  EXPECT_FALSE(check_path_rules(rules).ok()) << "it is no entry of the workspace";
  rules.blocked = {"/workspace/a", "/opt/b"};
  EXPECT_TRUE(check_path_rules(rules).ok());
  rules.read_only = {"/workspace/a"};
  EXPECT_FALSE(check_path_rules(rules).ok()) << "one path has one rule";
}

TEST(PathRules, TheyComeBackAsTheyWent) {
  PathRules rules;
  EXPECT_TRUE(rules.empty());
  rules.read_only = {"/workspace/in"};
  rules.read_write = {"/workspace/out/deep"};
  rules.blocked = {"/workspace/secret"};
  EXPECT_EQ(sandbox::path_rules_from_json(sandbox::path_rules_to_json(rules)).value(), rules);
  EXPECT_FALSE(sandbox::path_rules_from_json({{"read_only", 5}}).ok());
}

}  // namespace
