// Who is told of what has changed: subscriptions/listen, and subscriptions of older revisions.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/unit/mcp/fake_client.h"
#include "tests/unit/mcp/fake_providers.h"

namespace {

using mcp::fake::Client;
using mcp::fake::Sent;
using nlohmann::json;

const json kTasks = {{"extensions", {{"io.modelcontextprotocol/tasks", json::object()}}}};
constexpr const char* kId = "io.modelcontextprotocol/subscriptionId";

class Subscriptions : public testing::Test {
 protected:
  void listen(const json& id, json wishes, Sent& sent, json capabilities = json::object()) {
    client.send(id, "subscriptions/listen",
                Client::modern({{"notifications", std::move(wishes)}}, std::move(capabilities)),
                sent);
  }

  mcp::fake::FullServer full;
  Client client{full.server};
};

TEST_F(Subscriptions, AnAcknowledgementComesFirstAndSaysWhatIsServed) {
  Sent sent;
  listen("1",
         {{"toolsListChanged", true},
          {"promptsListChanged", true},
          {"resourcesListChanged", true},
          {"resourceSubscriptions", {"test://a"}}},
         sent);
  EXPECT_EQ(sent.at(0)["method"], "notifications/subscriptions/acknowledged");
  EXPECT_EQ(sent.at(0)["params"]["_meta"][kId], "1");
  // Prompts of this server never change.
  EXPECT_EQ(sent.at(0)["params"]["notifications"], json({{"toolsListChanged", true},
                                                         {"resourcesListChanged", true},
                                                         {"resourceSubscriptions", {"test://a"}}}));
  EXPECT_EQ(client.connection.open_requests(), 1U);
}

TEST_F(Subscriptions, EachIsToldWhatItAskedForUnderItsId) {
  Sent number;
  Sent text;
  listen(0, {{"toolsListChanged", true}}, number);
  listen("0", {{"resourceSubscriptions", {"test://a"}}}, text);
  full.server.changes().tools_changed();
  full.server.changes().prompts_changed();
  full.server.changes().resources_changed("somebody");
  full.server.changes().resource_updated("somebody", "test://a");
  full.server.changes().resource_updated("somebody", "test://b");
  full.server.changes().resource_updated("somebody else", "test://a");
  ASSERT_EQ(number.count(), 2U);
  EXPECT_EQ(number.at(1)["method"], "notifications/tools/list_changed");
  EXPECT_EQ(number.at(1)["params"], json({{"_meta", {{kId, 0}}}}));
  ASSERT_EQ(text.count(), 2U);
  EXPECT_EQ(text.at(1)["method"], "notifications/resources/updated");
  EXPECT_EQ(text.at(1)["params"], json({{"uri", "test://a"}, {"_meta", {{kId, "0"}}}}));
}

TEST_F(Subscriptions, ACancelledOneIsSilentAndLeavesNothingOpen) {
  Sent sent;
  listen(5, {{"toolsListChanged", true}, {"resourceSubscriptions", {"test://a"}}}, sent);
  client.notify("notifications/cancelled", {{"requestId", 5}});
  full.server.changes().tools_changed();
  EXPECT_EQ(sent.count(), 1U);
  EXPECT_EQ(sent.exchange->ends, 1);
  EXPECT_EQ(client.connection.open_requests(), 0U);
  EXPECT_EQ(full.resources.watched,
            (std::vector<std::string>{"+somebody test://a", "-somebody test://a"}));
}

TEST_F(Subscriptions, TheServersEndIsAResult) {
  Sent sent;
  listen(5, {{"toolsListChanged", true}}, sent);
  client.connection.end_subscriptions();
  EXPECT_EQ(sent.at(1)["method"], "notifications/cancelled");
  EXPECT_EQ(sent.at(1)["params"]["requestId"], 5);
  EXPECT_EQ(sent.at(2)["id"], 5);
  EXPECT_EQ(sent.at(2)["result"]["resultType"], "complete");
  EXPECT_EQ(sent.at(2)["result"]["_meta"][kId], 5);
  EXPECT_EQ(sent.exchange->ends, 1);
  EXPECT_EQ(client.connection.open_requests(), 0U);
}

TEST_F(Subscriptions, WrongWishesAreRefused) {
  const std::vector<json> wrong{json(1),
                                {{"toolsListChanged", 1}},
                                {{"resourceSubscriptions", "x"}},
                                {{"resourceSubscriptions", {1}}},
                                {{"resourceSubscriptions", {std::string(5000, 'x')}}}};
  for (const json& wishes : wrong) {
    Sent sent;
    listen(1, wishes, sent);
    EXPECT_EQ(sent.at(0)["error"]["code"], -32602) << wishes;
    EXPECT_EQ(sent.exchange->ends, 1);
  }
  json many = json::array();
  for (int i = 0; i < 1001; ++i) many.push_back(std::to_string(i));
  Sent sent;
  listen(1, {{"resourceSubscriptions", many}}, sent);
  EXPECT_EQ(sent.at(0)["error"]["code"], -32602);
  EXPECT_EQ(client.connection.open_requests(), 0U);
}

TEST_F(Subscriptions, ThereIsAnEndToHowMany) {
  std::vector<std::unique_ptr<Sent>> all;
  for (std::size_t i = 0; i < mcp::kListenersMax / 2; ++i) {
    all.push_back(std::make_unique<Sent>());
    listen(i, json::object(), *all.back());
  }
  Sent refused;
  listen("more", json::object(), refused);
  EXPECT_EQ(refused.at(0)["error"]["code"], -32603);
  Client other(full.server, "somebody else");
  Sent others;
  other.send(1, "subscriptions/listen", Client::modern({{"notifications", json::object()}}),
             others);
  EXPECT_EQ(others.at(0)["method"], "notifications/subscriptions/acknowledged");
  other.connection.disconnect();
  client.notify("notifications/cancelled", {{"requestId", 0}});
  Sent taken;
  listen("more", json::object(), taken);
  EXPECT_EQ(taken.at(0)["method"], "notifications/subscriptions/acknowledged");
  client.connection.disconnect();
}

TEST(Changes, ThereIsAnEndToWhatOnePrincipalIsToldOf) {
  mcp::Changes changes;
  mcp::Changes::Filter filter;
  for (std::size_t i = 0; i < mcp::kWatchedEachMax; ++i) filter.uris.insert(std::to_string(i));
  const auto add = [&](const char* who) {
    return changes.add(
        who, filter, [](const mcp::Change&) {}, /*counted=*/true);
  };
  std::vector<mcp::Changes::Id> held;
  for (std::size_t i = 0; i < mcp::kWishesEachMax / mcp::kWatchedEachMax; ++i) {
    const auto id = add("one");
    ASSERT_TRUE(id);
    held.push_back(*id);
  }
  EXPECT_FALSE(add("one"));
  EXPECT_TRUE(add("other"));
  const auto few = changes.add(
      "one", {}, [](const mcp::Change&) {}, /*counted=*/false);
  ASSERT_TRUE(few);
  std::size_t watched = 0;
  while (changes.watch_uri(*few, "more " + std::to_string(watched))) ++watched;
  EXPECT_EQ(watched, mcp::kWishesEachMax % mcp::kWatchedEachMax);
  changes.unwatch_uri(*few, "more 0");
  EXPECT_TRUE(changes.watch_uri(*few, "again"));
  changes.remove(held.front());
  EXPECT_TRUE(add("one"));
}

TEST_F(Subscriptions, ATaskIsToldToItsOwner) {
  (void)full.tasks.add("somebody", "mine");
  (void)full.tasks.add("somebody else", "not mine");
  Sent refused;
  listen(1, {{"taskIds", {"mine"}}}, refused);
  EXPECT_EQ(refused.at(0)["error"]["code"], -32021);
  Sent sent;
  listen(1, {{"taskIds", {"mine", "not mine"}}}, sent, kTasks);
  EXPECT_EQ(sent.at(0)["params"]["notifications"], json({{"taskIds", {"mine"}}}));
  full.tasks.set("mine", mcp::TaskStatus::kCompleted, mcp::fake::text_result("done"));
  full.server.changes().task_changed("somebody", "mine");
  const json told = sent.at(1);
  EXPECT_EQ(told["method"], "notifications/tasks");
  EXPECT_EQ(told["params"]["status"], "completed");
  EXPECT_EQ(told["params"]["result"]["content"][0]["text"], "done");
  EXPECT_EQ(told["params"]["_meta"][kId], 1);
}

TEST_F(Subscriptions, AnOlderClientIsToldUnasked) {
  full.server.changes().tools_changed();
  EXPECT_EQ(client.told.count(), 0U);
  client.initialize("2025-11-25");
  full.server.changes().tools_changed();
  EXPECT_EQ(client.told.at(0)["method"], "notifications/tools/list_changed");
  EXPECT_EQ(client.ask("resources/subscribe", {{"uri", "test://a"}})["result"], json::object());
  EXPECT_EQ(client.ask("resources/subscribe", {{"uri", "test://a"}})["result"], json::object());
  full.server.changes().resource_updated("somebody", "test://a");
  full.server.changes().resource_updated("somebody", "test://b");
  EXPECT_EQ(client.told.at(1)["params"], json({{"uri", "test://a"}}));
  EXPECT_EQ(client.ask("resources/unsubscribe", {{"uri", "test://a"}})["result"], json::object());
  EXPECT_EQ(client.ask("resources/unsubscribe", {{"uri", "test://a"}})["result"], json::object());
  full.server.changes().resource_updated("somebody", "test://a");
  EXPECT_EQ(client.told.count(), 2U);
  EXPECT_EQ(full.resources.watched,
            (std::vector<std::string>{"+somebody test://a", "-somebody test://a"}));
  for (const json& uri : {json(1), json(""), json(std::string(5000, 'x'))}) {
    EXPECT_EQ(client.ask("resources/subscribe", {{"uri", uri}})["error"]["code"], -32602);
  }
}

TEST_F(Subscriptions, ChangesAndEndsFromManyThreads) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        Sent sent;
        const json id = thread * 1000 + i;
        listen(id, {{"toolsListChanged", true}}, sent);
        EXPECT_EQ(sent.at(0)["method"], "notifications/subscriptions/acknowledged");
        full.server.changes().tools_changed();
        client.notify("notifications/cancelled", {{"requestId", id}});
        const std::size_t count = sent.count();
        full.server.changes().tools_changed();
        EXPECT_EQ(sent.count(), count);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(client.connection.open_requests(), 0U);
}

}  // namespace
