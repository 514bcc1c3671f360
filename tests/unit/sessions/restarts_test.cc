// Tests that what a box took with it is started anew by the next one, once, whatever happens in
// between.
#include "sessions/restarts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "sessions/ground.h"
#include "sessions/run_table.h"
#include "sessions/store.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;

class RestartsTest : public testing::ServicesFixture {
 protected:
  void keep(const Session& session, const std::string& name, const std::string& text) const {
    const std::string place = directory_of(session) + "/restarts";
    std::filesystem::create_directories(place);
    std::ofstream(place + "/" + name) << text;
  }
  void keep(const Session& session, const std::string& id) const {
    sandbox::RunRequest request;
    request.run_id = id;
    request.code = "serve()";
    request.background = true;
    request.restarts_on_wake = true;
    request.env = {{"PORT", "3000"}};
    keep(session, id, sandbox::request_to_json(request).dump());
  }
  [[nodiscard]] std::set<std::string> kept_names(const Session& session) const {
    std::set<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(directory_of(session) + "/restarts")) {
      names.insert(entry.path().filename());
    }
    return names;
  }
  Restarts& restarts() { return parts().restarts; }
};

TEST_F(RestartsTest, EachIsANewRunWithTheSameCode) {
  const Session session = kept();
  keep(session, "run_7k2m9c0xq4a1");
  const auto due = restarts().due(session);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].in_place_of, "run_7k2m9c0xq4a1");
  EXPECT_NE(due[0].run_id, "run_7k2m9c0xq4a1");
  EXPECT_EQ(due[0].code, "serve()");
  EXPECT_EQ(due[0].env.at("PORT"), "3000");
  EXPECT_EQ(kept_names(session), std::set{due[0].run_id});
  EXPECT_EQ(
      Restarts::note_of(due),
      "to be started anew, as the session had lost them: run_7k2m9c0xq4a1 as " + due[0].run_id);
}

TEST_F(RestartsTest, AStartThatFailsInBetweenLosesNone) {
  const Session session = kept();
  keep(session, "run_7k2m9c0xq4a1");
  ASSERT_EQ(restarts().due(session).size(), 1U);
  const auto again = restarts().due(session);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].in_place_of, "run_7k2m9c0xq4a1") << "the last that anybody has heard of";
}

TEST_F(RestartsTest, TheBoxOfTheSessionGetsThem) {
  const Session session = kept();
  keep(session, "run_7k2m9c0xq4a1");
  ASSERT_TRUE(parts().boxes.box_of(session).ok());
  const auto runs = store_->runs.of_session(session.id, 10);
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs.value().size(), 1U);
  EXPECT_TRUE(runs.value()[0].background);
  EXPECT_EQ(kept_names(session), std::set{runs.value()[0].id});
  EXPECT_NE(sandbox_.started().back().note.find("run_7k2m9c0xq4a1 as " + runs.value()[0].id),
            std::string::npos);
}

TEST_F(RestartsTest, OneThatTheBoxRefusesSaysSoAndIsTriedAgain) {
  const Session session = kept();
  keep(session, "run_7k2m9c0xq4a1");
  sandbox::fake::BoxHooks hooks;
  hooks.submit = [](const sandbox::RunRequest&) -> base::Status {
    return base::error(Kind::kLimit, "no room");
  };
  sandbox_.hook_boxes(std::move(hooks));
  ASSERT_TRUE(parts().boxes.box_of(session).ok());
  const auto runs = store_->runs.of_session(session.id, 10);
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs.value().size(), 1U);
  EXPECT_EQ(runs.value()[0].status, "failed");
  ASSERT_EQ(notices().size(), 1U);
  EXPECT_EQ(kept_names(session).size(), 1U);
}

TEST_F(RestartsTest, WhatNobodyAskedForIsLeftAlone) {
  const Session session = kept();
  keep(session, "run_7k2m9c0xq4b2", "no JSON");
  keep(session, "run_7k2m9c0xq4b3", "[]");
  keep(session, "run_7k2m9c0xq4b4",
       R"({"run_id":"run_7k2m9c0xq4b4","language":"python","code":"1","background":true})");
  keep(session, "run_7k2m9c0xq4b5",
       R"({"run_id":"run_7k2m9c0xq4b5","language":"python","code":"1","on_wake":"restart"})");
  keep(
      session, "run_7k2m9c0xq4b6.new",
      R"({"run_id":"run_7k2m9c0xq4b6","language":"python","background":true,"on_wake":"restart"})");
  std::filesystem::create_directory(directory_of(session) + "/restarts/run_7k2m9c0xq4b7");
  std::filesystem::create_symlink("/etc/passwd",
                                  directory_of(session) + "/restarts/run_7k2m9c0xq4b8");
  EXPECT_TRUE(restarts().due(session).empty());
  EXPECT_TRUE(restarts().due(kept()).empty()) << "it has no such directory";
}

TEST_F(RestartsTest, ThereAreNoMoreThanASessionMayHave) {
  const Session session = kept();
  for (int number = 0; number < sandbox::kBackgroundRunsMax + 2; ++number) {
    keep(session, "run_7k2m9c0xq" + std::to_string(100 + number));
  }
  EXPECT_EQ(restarts().due(session).size(), static_cast<std::size_t>(sandbox::kBackgroundRunsMax));
}

}  // namespace
}  // namespace sessions
