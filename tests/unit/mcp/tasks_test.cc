// Both kinds of tasks from one source.
#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "tests/unit/mcp/fake_client.h"
#include "tests/unit/mcp/fake_providers.h"

namespace {

using mcp::TaskStatus;
using mcp::fake::Client;
using mcp::fake::Sent;
using nlohmann::json;

const json kDeclared = {{"extensions", {{"io.modelcontextprotocol/tasks", json::object()}}}};

class Tasks : public testing::Test {
 protected:
  json modern(const std::string& method, json params, json capabilities = kDeclared) {
    return client.ask(method, Client::modern(std::move(params), std::move(capabilities)));
  }

  mcp::fake::FullServer full;
  Client client{full.server};
};

TEST_F(Tasks, OfTheExtensionAreFlatAndOnlyForThoseWhoKnowThem) {
  const json created = modern("tools/call", {{"name", "job"}, {"task", {{"ttl", 1}}}})["result"];
  EXPECT_EQ(created["resultType"], "task");
  EXPECT_EQ(created["taskId"], "task-1");
  EXPECT_EQ(created["status"], "working");
  EXPECT_EQ(created["ttlMs"], 60000);
  EXPECT_EQ(created["pollIntervalMs"], 1000);
  for (const char* name : {"task", "ttl", "pollInterval", "requestState"}) {
    EXPECT_FALSE(created.contains(name)) << name;
  }
  const json plain = modern("tools/call", {{"name", "job"}}, json::object())["result"];
  EXPECT_EQ(plain["content"][0]["text"], "done at once");
  const json error = modern("tools/call", {{"name", "must_be_a_task"}}, json::object())["error"];
  EXPECT_EQ(error["code"], -32021);
  EXPECT_EQ(error["data"]["requiredCapabilities"], kDeclared);
}

TEST_F(Tasks, OfTheExtensionCarryWhatTheyHaveComeTo) {
  (void)modern("tools/call", {{"name", "job"}});
  const json id = {{"taskId", "task-1"}};
  EXPECT_EQ(modern("tasks/get", id)["result"]["status"], "working");
  mcp::ToolResult failed = mcp::fake::text_result("no luck");
  failed.is_error = true;
  full.tasks.set("task-1", TaskStatus::kCompleted, failed);
  const json done = modern("tasks/get", id)["result"];
  EXPECT_EQ(done["resultType"], "complete");
  EXPECT_EQ(done["status"], "completed");
  EXPECT_EQ(done["result"]["isError"], true);
  full.tasks.set("task-1", TaskStatus::kFailed, mcp::RpcError{-32603, "broken"});
  EXPECT_EQ(modern("tasks/get", id)["result"]["error"],
            json({{"code", -32603}, {"message", "broken"}}));
}

TEST_F(Tasks, OfTheExtensionAskForInput) {
  (void)modern("tools/call", {{"name", "job"}});
  full.tasks.set("task-1", TaskStatus::kInputRequired, std::nullopt,
                 {{"form", mcp::fake::question("elicitation/create")},
                  {"sample", mcp::fake::question("sampling/createMessage")}});
  json capabilities = kDeclared;
  capabilities["elicitation"] = json::object();
  const json asked = modern("tasks/get", {{"taskId", "task-1"}}, capabilities)["result"];
  EXPECT_EQ(asked["status"], "input_required");
  EXPECT_EQ(asked["inputRequests"].size(), 1U);
  EXPECT_TRUE(asked["inputRequests"].contains("form"));
  EXPECT_EQ(modern("tasks/update", {{"taskId", "task-1"}})["error"]["code"], -32602);
  const json ack =
      modern("tasks/update", {{"taskId", "task-1"}, {"inputResponses", {{"form", 1}}}});
  EXPECT_EQ(ack["result"]["resultType"], "complete");
  EXPECT_FALSE(ack["result"].contains("taskId"));
  const json done = modern("tasks/get", {{"taskId", "task-1"}})["result"];
  EXPECT_EQ(done["result"]["content"][0]["text"], R"({"form":1})");
}

TEST_F(Tasks, OfTheExtensionAreCancelledAgainAndAgain) {
  (void)modern("tools/call", {{"name", "job"}});
  for (int i = 0; i < 2; ++i) {
    const json ack = modern("tasks/cancel", {{"taskId", "task-1"}})["result"];
    EXPECT_EQ(ack["resultType"], "complete");
    EXPECT_FALSE(ack.contains("status"));
  }
  EXPECT_EQ(modern("tasks/get", {{"taskId", "task-1"}})["result"]["status"], "cancelled");
}

TEST_F(Tasks, AreNotCancelledByWhoMayNot) {
  (void)modern("tools/call", {{"name", "job"}});
  Client reader(full.server, "somebody", {"read"});
  reader.initialize("2025-11-25");
  const json id = {{"taskId", "task-1"}};
  EXPECT_EQ(reader.ask("tasks/cancel", id)["error"]["code"], -32600);
  EXPECT_EQ(reader.ask("tasks/get", id)["result"]["status"], "working");
}

TEST_F(Tasks, OfOthersDoNotExist) {
  (void)full.tasks.add("somebody else", "theirs");
  client.initialize("2025-11-25");
  for (const json& id : {json("theirs"), json("none"), json(1)}) {
    for (const char* method : {"tasks/get", "tasks/cancel", "tasks/update"}) {
      EXPECT_EQ(modern(method, {{"taskId", id}, {"inputResponses", {}}})["error"]["code"], -32602);
    }
    for (const char* method : {"tasks/get", "tasks/cancel", "tasks/result"}) {
      EXPECT_EQ(client.ask(method, {{"taskId", id}})["error"]["code"], -32602);
    }
  }
  EXPECT_TRUE(client.ask("tasks/list")["result"]["tasks"].empty());
  for (const char* method : {"tasks/get", "tasks/cancel", "tasks/update"}) {
    EXPECT_EQ(modern(method, {{"taskId", "x"}}, json::object())["error"]["code"], -32021);
  }
}

TEST_F(Tasks, Of2025AreNestedAndAskedFor) {
  client.initialize("2025-11-25");
  const json created = client.ask("tools/call", {{"name", "job"}, {"task", {{"ttl", 60000}}}});
  EXPECT_EQ(created["result"]["task"]["taskId"], "task-1");
  EXPECT_EQ(created["result"]["task"]["ttl"], 60000);
  EXPECT_EQ(created["result"]["task"]["pollInterval"], 1000);
  EXPECT_EQ(client.ask("tools/call", {{"name", "job"}})["result"]["content"][0]["text"],
            "done at once");
  EXPECT_EQ(client.ask("tasks/list")["result"]["tasks"].size(), 1U);
  EXPECT_EQ(client.ask("tasks/list", {{"cursor", "x"}})["error"]["code"], -32602);
  const json task = json::object();
  EXPECT_EQ(client.ask("tools/call", {{"name", "echo"}, {"task", task}})["error"]["code"], -32601);
  EXPECT_EQ(client.ask("tools/call", {{"name", "must_be_a_task"}})["error"]["code"], -32601);
  EXPECT_EQ(client.ask("tools/call", {{"name", "job"}, {"task", 1}})["error"]["code"], -32602);
  const json wrong =
      client.ask("tools/call", {{"name", "job"}, {"task", task}, {"arguments", {{"wrong", 1}}}});
  EXPECT_EQ(wrong["error"]["code"], -32602);
  EXPECT_EQ(wrong["error"]["message"], "wrong is wrong");
}

TEST_F(Tasks, Of2025SayWhichToolsRunAsOne) {
  const auto support = [&](const json& tools) {
    json found = json::object();
    for (const json& tool : tools) {
      if (tool.contains("execution")) found[tool["name"]] = tool["execution"]["taskSupport"];
    }
    return found;
  };
  client.initialize("2025-11-25");
  EXPECT_EQ(support(client.ask("tools/list")["result"]["tools"]),
            json({{"job", "optional"}, {"must_be_a_task", "required"}}));
  client.initialize("2025-06-18");
  EXPECT_EQ(support(client.ask("tools/list")["result"]["tools"]), json::object());
  EXPECT_EQ(support(modern("tools/list", {})["result"]["tools"]), json::object());
}

TEST_F(Tasks, Of2025AreWaitedFor) {
  client.initialize("2025-11-25");
  (void)client.ask("tools/call", {{"name", "job"}, {"task", json::object()}});
  Sent sent;
  client.send(1, "tasks/result", {{"taskId", "task-1"}}, sent);
  EXPECT_EQ(sent.count(), 0U);
  mcp::ToolResult failed = mcp::fake::text_result("no luck");
  failed.is_error = true;
  full.tasks.set("task-1", TaskStatus::kCompleted, failed);
  const json result = sent.at(0)["result"];
  EXPECT_EQ(result["isError"], true);
  EXPECT_EQ(result["_meta"]["io.modelcontextprotocol/related-task"], json({{"taskId", "task-1"}}));
  EXPECT_EQ(client.ask("tasks/get", {{"taskId", "task-1"}})["result"]["status"], "failed");
  EXPECT_EQ(client.ask("tasks/cancel", {{"taskId", "task-1"}})["error"]["code"], -32602);
}

TEST_F(Tasks, Of2025AreWaitedForOnNoThread) {
  client.initialize("2025-11-25");
  (void)client.ask("tools/call", {{"name", "job"}, {"task", json::object()}});
  std::vector<std::unique_ptr<Sent>> all;
  for (int i = 0; i < 50; ++i) {
    all.push_back(std::make_unique<Sent>());
    client.send("wait " + std::to_string(i), "tasks/result", {{"taskId", "task-1"}}, *all.back());
  }
  client.wait();  // for all threads
  EXPECT_EQ(client.connection.open_requests(), 50U);
  // A change that is no end.
  full.server.changes().task_changed("somebody", "task-1");
  client.wait();
  EXPECT_EQ(client.connection.open_requests(), 50U);
  client.notify("notifications/cancelled", {{"requestId", "wait 7"}});
  client.wait();
  EXPECT_EQ(client.connection.open_requests(), 49U);
  EXPECT_EQ(all[7]->exchange->ends, 1);
  full.tasks.set("task-1", TaskStatus::kCompleted, mcp::fake::text_result("done"));
  client.wait();
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(all[i]->count(), i == 7 ? 0U : 1U) << i;
    EXPECT_EQ(all[i]->exchange->ends, 1);
    if (i != 7) {
      EXPECT_EQ(all[i]->at(0)["result"]["content"][0]["text"], "done");
    }
  }
  EXPECT_EQ(client.connection.open_requests(), 0U);
  // The id is free again.
  Sent again;
  client.send("wait 7", "tasks/result", {{"taskId", "task-1"}}, again);
  EXPECT_TRUE(again.at(0).contains("result"));
}

TEST_F(Tasks, Of2025ThatNobodyCanLookAtAreRefused) {
  bool full_up = false;
  mcp::Connection connection(
      full.server,
      {.id = "c", .principal = {"somebody", {}}, .run = [&](const std::function<void()>& work) {
         if (!full_up) work();
         return !full_up;
       }});
  const auto send = [&](const json& id, const std::string& method, const json& params, Sent& sent) {
    connection.receive(
        json({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}).dump(),
        sent.exchange);
  };
  Sent opened;
  send(1, "initialize", {{"protocolVersion", "2025-11-25"}}, opened);
  Sent created;
  send(2, "tools/call", {{"name", "job"}, {"task", json::object()}}, created);
  Sent told;
  Sent cancelled;
  send(3, "tasks/result", {{"taskId", "task-1"}}, told);
  send(4, "tasks/result", {{"taskId", "task-1"}}, cancelled);
  full_up = true;
  Sent none;
  connection.receive(json({{"jsonrpc", "2.0"},
                           {"method", "notifications/cancelled"},
                           {"params", {{"requestId", 4}}}})
                         .dump(),
                     none.exchange);
  EXPECT_EQ(cancelled.count(), 0U);
  EXPECT_EQ(cancelled.exchange->ends, 1);
  full.tasks.set("task-1", TaskStatus::kCompleted, mcp::fake::text_result("done"));
  EXPECT_EQ(told.at(0)["error"]["code"], -32603);
  EXPECT_EQ(connection.open_requests(), 0U);
  full_up = false;
  Sent later;
  send(3, "tasks/result", {{"taskId", "task-1"}}, later);
  EXPECT_TRUE(later.at(0).contains("result"));
}

TEST_F(Tasks, Of2025TellTheirStatusAndProgress) {
  client.initialize("2025-11-25");
  (void)client.ask("tools/call",
                   {{"name", "job"}, {"task", json::object()}, {"_meta", {{"progressToken", 0}}}});
  auto& changes = full.server.changes();
  changes.task_progress("somebody", "task-1", 1.5, "a line");
  full.tasks.set("task-1", TaskStatus::kWorking, std::nullopt);
  full.tasks.set("task-1", TaskStatus::kCompleted, mcp::fake::text_result("done"));
  changes.task_progress("somebody", "task-1", 2.5, "after the end");
  changes.task_changed("somebody", "task-1");
  ASSERT_EQ(client.told.count(), 3U);
  EXPECT_EQ(client.told.at(0)["method"], "notifications/progress");
  EXPECT_EQ(client.told.at(0)["params"],
            json({{"progressToken", 0}, {"progress", 1.5}, {"message", "a line"}}));
  for (int i : {1, 2}) {
    EXPECT_EQ(client.told.at(i)["method"], "notifications/tasks/status");
    EXPECT_EQ(client.told.at(i)["params"]["taskId"], "task-1");
  }
  EXPECT_EQ(client.told.at(1)["params"]["status"], "working");
  EXPECT_EQ(client.told.at(2)["params"]["status"], "completed");
}

TEST_F(Tasks, WithoutATokenTellNoProgress) {
  client.initialize("2025-11-25");
  (void)client.ask("tools/call", {{"name", "job"}, {"task", json::object()}});
  full.server.changes().task_progress("somebody", "task-1", 1, "a line");
  EXPECT_EQ(client.told.count(), 0U);
  full.tasks.set("task-1", TaskStatus::kFailed, mcp::RpcError{-32603, "broken"});
  EXPECT_EQ(client.told.at(0)["params"]["status"], "failed");
}

TEST_F(Tasks, OfTheExtensionTellNobodyWhoDoesNotListen) {
  (void)modern("tools/call", {{"name", "job"}, {"_meta", {{"progressToken", 1}}}});
  full.server.changes().task_progress("somebody", "task-1", 1, "a line");
  full.tasks.set("task-1", TaskStatus::kCompleted, mcp::fake::text_result("done"));
  EXPECT_EQ(client.told.count(), 0U);
}

TEST_F(Tasks, Of2025EndCancelled) {
  client.initialize("2025-11-25");
  (void)client.ask("tools/call", {{"name", "job"}, {"task", json::object()}});
  Sent sent;
  client.send(1, "tasks/result", {{"taskId", "task-1"}}, sent);
  EXPECT_EQ(client.ask("tasks/cancel", {{"taskId", "task-1"}})["result"]["status"], "cancelled");
  EXPECT_EQ(sent.at(0)["error"]["message"], "the task was cancelled");
}

TEST_F(Tasks, Of2025AskWhileTheyAreWaitedFor) {
  client.initialize("2025-11-25", {{"elicitation", json::object()}});
  (void)client.ask("tools/call", {{"name", "job"}, {"task", json::object()}});
  full.tasks.set("task-1", TaskStatus::kInputRequired, std::nullopt,
                 {{"form", mcp::fake::question("elicitation/create")}});
  Sent sent;
  client.send(1, "tasks/result", {{"taskId", "task-1"}}, sent);
  const json question = sent.at(0);
  EXPECT_EQ(question["method"], "elicitation/create");
  EXPECT_EQ(question["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"],
            "task-1");
  Sent nothing;
  client.send({{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", {{"n", 1}}}}, nothing);
  EXPECT_EQ(sent.at(1)["result"]["content"][0]["text"], R"({"form":{"n":1}})");
}

TEST_F(Tasks, Of2025ThatAskInVainEndTheWait) {
  client.initialize("2025-11-25");
  (void)client.ask("tools/call", {{"name", "job"}, {"task", json::object()}});
  full.tasks.set("task-1", TaskStatus::kInputRequired, std::nullopt,
                 {{"form", mcp::fake::question("elicitation/create")}});
  EXPECT_EQ(client.ask("tasks/result", {{"taskId", "task-1"}})["error"]["code"], -32600);
}

TEST_F(Tasks, OlderRevisionsIgnoreTheWish) {
  client.initialize("2025-06-18");
  EXPECT_TRUE(
      client.ask("tools/call", {{"name", "job"}, {"task", json::object()}}).contains("result"));
  EXPECT_EQ(client.ask("tasks/get", {{"taskId", "x"}})["error"]["code"], -32601);
}

}  // namespace
