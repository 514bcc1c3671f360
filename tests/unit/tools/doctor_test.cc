// Tests that what was tried in a box corrects what was seen of the host.
#include "tools/cli/doctor_proof.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sandbox::Level;
using sandbox::probe::Finding;
using tools::cli::BoxProof;
using State = Finding::State;

std::vector<Finding> seen() {
  return {{"AppArmor", State::kMissing, "restricts", "load the profile"},
          {"Python, SQL", State::kGood, "/usr/bin/python3", ""},
          {"Python packages", State::kGood, "numpy pandas matplotlib", "", {}, true},
          {"SQL engine", State::kGood, "DuckDB or SQLite", "", {}, false},
          {"JavaScript", State::kGood, "/usr/bin/node", ""},
          {"TypeScript", State::kWeaker, "no /usr/bin/esbuild", "apt install esbuild"},
          {"bash", State::kGood, "/bin/bash", ""}};
}

BoxProof all_works() {
  BoxProof proof;
  proof.holds = true;
  proof.languages = {{"python", {true, "3.11.2"}},
                     {"sql", {true, ""}},
                     {"javascript", {true, "22.13.0"}},
                     {"typescript", {true, "22.13.0"}},
                     {"bash", {true, "held"}}};
  proof.packages = {{"numpy", {true, "1"}}, {"pandas", {true, "2"}}, {"matplotlib", {true, "3"}}};
  return proof;
}

Finding corrected(const std::string& layer, const BoxProof& proof) {
  auto findings = seen();
  tools::cli::correct(findings, proof);
  return *std::find_if(findings.begin(), findings.end(),
                       [&](const Finding& one) { return one.layer == layer; });
}

TEST(Doctor, WhatWorksSaysItsVersion) {
  EXPECT_EQ(corrected("Python, SQL", all_works()).detail, "3.11.2, /usr/bin/python3");
  EXPECT_EQ(corrected("JavaScript", all_works()).detail, "22.13.0, /usr/bin/node");
  EXPECT_EQ(corrected("bash", all_works()).detail, "/bin/bash");
  EXPECT_EQ(corrected("Python packages", all_works()).state, State::kGood);
}

TEST(Doctor, WhatWasExpectedToFailAndWorksIsNotHeldAgainstTheHost) {
  const Finding typescript = corrected("TypeScript", all_works());
  EXPECT_EQ(typescript.state, State::kGood);
  EXPECT_EQ(typescript.remedy, "");
  // "missing" would say that no session can start.
  EXPECT_EQ(corrected("AppArmor", all_works()).state, State::kWeaker);
}

TEST(Doctor, AnInterpreterThatIsThereAndFailsIsNamedWithTheReason) {
  BoxProof proof = all_works();
  proof.languages["javascript"] = {false, "SyntaxError: Unexpected token"};
  proof.languages["sql"] = {false, "no sqlite3"};
  const Finding javascript = corrected("JavaScript", proof);
  EXPECT_EQ(javascript.state, State::kWeaker);
  EXPECT_NE(javascript.detail.find("SyntaxError: Unexpected token"), std::string::npos);
  EXPECT_NE(javascript.remedy.find("node 18"), std::string::npos);
  const Finding python = corrected("Python, SQL", proof);
  EXPECT_EQ(python.state, State::kWeaker);
  EXPECT_EQ(python.detail, "/usr/bin/python3; a box cannot run sql: no sqlite3");
}

TEST(Doctor, APackageThatIsThereAndCannotBeImportedIsNamedWithTheReason) {
  BoxProof proof = all_works();
  proof.packages["pandas"] = {false, "ImportError: numpy is too old"};
  proof.packages.erase("matplotlib");
  const Finding packages = corrected("Python packages", proof);
  EXPECT_EQ(packages.state, State::kWeaker);
  EXPECT_EQ(
      packages.detail,
      "numpy pandas matplotlib; there, but of no use: pandas (ImportError: numpy is too old), "
      "matplotlib (not found by the Python of boxes)");
  EXPECT_NE(packages.remedy, "");
  EXPECT_EQ(corrected("SQL engine", proof).state, State::kGood) << "nobody has seen DuckDB";
}

TEST(Doctor, EachLimitIsOneFindingWithItsLevel) {
  const auto findings = tools::cli::limit_findings({.memory = "watched, and an rlimit per process",
                                                    .processes = "rlimit",
                                                    .cpus = "cgroup v2",
                                                    .pause = "SIGSTOP",
                                                    .disk = "watched"});
  ASSERT_EQ(findings.size(), std::size(sandbox::kLimitRows) + 1);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.state == State::kGood, finding.remedy.empty()) << finding.layer;
    if (finding.level) {
      EXPECT_EQ(finding.state == State::kGood, finding.level == Level::kHard) << finding.layer;
    }
  }
  EXPECT_EQ(findings[0].level, Level::kWatched);
  EXPECT_NE(findings[0].detail.find("rlimit per process"), std::string::npos);
  EXPECT_EQ(findings[1].level, Level::kHard);
  EXPECT_EQ(findings[1].detail, "cgroup v2");
  EXPECT_EQ(findings.back().layer, "pause");
  EXPECT_EQ(findings.back().state, State::kWeaker);
  EXPECT_EQ(tools::cli::limit_findings({.pause = "cgroup v1"}).back().state, State::kGood);
}

TEST(Doctor, ARecordThatSaysNothingPromisesNothing) {
  const auto findings = tools::cli::limit_findings({});
  EXPECT_EQ(findings[0].level, Level::kNone);
  EXPECT_EQ(findings[0].state, State::kWeaker);
}

}  // namespace
