// A server that offers everything: resources, prompts, tasks, questions to the client.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/server.h"
#include "tests/unit/mcp/fake_tools.h"

namespace mcp::fake {

class FakeResources final : public ResourceProvider {
 public:
  std::optional<Page> list(const std::string& cursor, CallContext&) override {
    Page page;
    if (cursor.empty()) {
      page.items->push_back(
          {{"uri", "test://text"},
           {"name", "text"},
           {"title", "A text"},
           {"mimeType", "text/plain"},
           {"size", 5},
           {"annotations", {{"priority", 0.5}, {"lastModified", "2026-01-01T00:00:00Z"}}},
           {"icons", {{{"src", "https://example.org/i.png"}}}},
           {"_meta", {{"example.org/a", 1}}}});
      page.next_cursor = "second";
    } else if (cursor == "second") {
      page.items->push_back({{"uri", "test://blob"}, {"name", "blob"}});
    } else {
      return std::nullopt;
    }
    return page;
  }

  nlohmann::json templates() override {
    return {{{"uriTemplate", "test://{+path}"}, {"name", "any"}, {"title", "Any path"}}};
  }

  ReadAnswer read(const std::string& uri, CallContext& context) override {
    if (uri == "test://text") {
      return ResourceContents{nlohmann::json{{{"uri", uri},
                                              {"mimeType", "text/plain"},
                                              {"text", "hello"},
                                              {"_meta", {{"example.org/a", 1}}}}}};
    }
    if (uri == "test://blob")
      return ResourceContents{nlohmann::json{{{"uri", uri}, {"blob", "aGVsbG8="}}}};
    if (uri == "test://ask") {
      if (context.input_responses().contains("name")) {
        return ResourceContents{
            nlohmann::json{{{"uri", uri}, {"text", context.input_responses()["name"].dump()}}}};
      }
      return InputRequired{
          nlohmann::json{{"name",
                          {{"method", "elicitation/create"},
                           {"params",
                            {{"message", "name?"},
                             {"requestedSchema",
                              {{"type", "object"}, {"properties", nlohmann::json::object()}}}}}}}}};
    }
    if (uri == "test://throw") throw std::runtime_error("a secret of the server");
    return NotFound{};
  }

  std::optional<Completion> complete(const std::string& uri_template, const CompletionQuery& query,
                                     CallContext&) override {
    if (uri_template != "test://{+path}" || query.argument != "path") return std::nullopt;
    Completion completion;
    for (int i = 0; i < 150; ++i) completion.values.push_back(query.value + std::to_string(i));
    completion.total = 150;
    return completion;
  }

  [[nodiscard]] bool completes() const override { return true; }
  [[nodiscard]] bool can_subscribe() const override { return true; }
  [[nodiscard]] bool list_may_change() const override { return true; }
  void watch(const std::string& principal_id, const std::string& uri) override {
    watched.push_back("+" + principal_id + " " + uri);
  }
  void unwatch(const std::string& principal_id, const std::string& uri) override {
    watched.push_back("-" + principal_id + " " + uri);
  }

  std::vector<std::string> watched;
};

// Tasks that a test moves from state to state.
class FakeTasks final : public TaskSource {
 public:
  Task add(const std::string& owner, const std::string& id) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[id];
    entry.owner = owner;
    entry.task = {
        id, TaskStatus::kWorking, "", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", 60000, 1000};
    return entry.task;
  }
  void set(const std::string& id, TaskStatus status, std::optional<TaskOutcome> outcome,
           nlohmann::json input_requests = nlohmann::json::object()) {
    std::string owner;
    {
      const std::lock_guard lock(mutex_);
      Entry& entry = entries_.at(id);
      entry.task.status = status;
      entry.task.input_requests = std::move(input_requests);
      entry.outcome = std::move(outcome);
      owner = entry.owner;
    }
    if (changes != nullptr) changes->task_changed(owner, id);
  }

  Changes* changes = nullptr;  // told of what is set

  std::optional<Task> find(const Principal& principal, const std::string& id) override {
    const std::lock_guard lock(mutex_);
    const Entry* entry = entry_of(principal, id);
    return entry == nullptr ? std::nullopt : std::optional(entry->task);
  }
  std::optional<TaskOutcome> outcome(const Principal& principal, const std::string& id) override {
    const std::lock_guard lock(mutex_);
    const Entry* entry = entry_of(principal, id);
    return entry == nullptr ? std::nullopt : entry->outcome;
  }
  bool cancel(const Principal& principal, const std::string& id) override {
    if (!principal.scopes.empty()) return false;
    set(id, TaskStatus::kCancelled, std::nullopt);
    return true;
  }
  void update(const Principal&, const std::string& id, const nlohmann::json& answers) override {
    set(id, TaskStatus::kCompleted, text_result(answers.dump()));
  }
  std::optional<TaskPage> list(const Principal& principal, const std::string& cursor) override {
    if (!cursor.empty()) return std::nullopt;
    const std::lock_guard lock(mutex_);
    TaskPage page;
    for (const auto& [id, entry] : entries_) {
      if (entry.owner == principal.id) page.tasks.push_back(entry.task);
    }
    return page;
  }

 private:
  struct Entry {
    std::string owner;
    Task task;
    std::optional<TaskOutcome> outcome;
  };
  const Entry* entry_of(const Principal& principal, const std::string& id) const {
    const auto entry = entries_.find(id);
    return entry == entries_.end() || entry->second.owner != principal.id ? nullptr
                                                                          : &entry->second;
  }

  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

inline nlohmann::json question(const std::string& method) {
  nlohmann::json params = nlohmann::json::object();
  if (method == "elicitation/create") {
    params = {{"message", "name?"},
              {"requestedSchema", {{"type", "object"}, {"properties", nlohmann::json::object()}}}};
  }
  if (method == "sampling/createMessage") {
    params = {{"messages", nlohmann::json::array()}, {"maxTokens", 10}};
  }
  return {{"method", method}, {"params", params}};
}

// Asks for everything a client may be asked, then counts its rounds.
inline ToolAnswer ask_all(const nlohmann::json&, CallContext& context) {
  const int round = context.request_state().is_null() ? 0 : context.request_state().get<int>();
  if (round < 2) {
    return InputRequired{nlohmann::json{{"form", question("elicitation/create")},
                                        {"roots", question("roots/list")},
                                        {"sample", question("sampling/createMessage")}},
                         nlohmann::json(round + 1)};
  }
  return text_result(context.input_responses().dump());
}

inline Prompt greet() {
  return {"greet",
          "Greet",
          "Greets somebody",
          {{"name", "Name", "of whom", true}, {"tone", "", "how", false}},
          [](const PromptArguments& arguments, CallContext&) {
            return PromptResult{
                "A greeting",
                nlohmann::json{
                    {{"role", "user"}, {"content", text_block("Hello " + arguments.at("name"))}},
                    {{"role", "user"},
                     {"content",
                      {{"type", "resource_link"}, {"uri", "test://text"}, {"name", "text"}}}}}};
          },
          [](const CompletionQuery& query, CallContext&) {
            return query.argument == "tone"
                       ? Completion{{"kind to " + query.known.at("name")}, std::nullopt}
                       : Completion{};
          }};
}

struct FullServer {
  FakeResources resources;
  FakeTasks tasks;
  Server server = make_server();

  FullServer() {
    server.set_resources(resources);
    server.set_tasks(tasks);
    tasks.changes = &server.changes();
    server.add_prompt(greet());
    server.enable_logging();
    server.tools_may_change();
    Tool ask = make_tool("ask_all", nullptr);
    ask.call = ask_all;
    server.add_tool(std::move(ask));
    Tool log = make_tool("log", [](const nlohmann::json&, CallContext& context) {
      context.log(LogLevel::kDebug, "fake", "small");
      context.log(LogLevel::kError, "", {{"n", 1}});
      return text_result("logged");
    });
    log.meta = nlohmann::json{{"example.org/a", 1}};
    log.icons = nlohmann::json{{{"src", "https://example.org/i.png"}}};
    server.add_tool(std::move(log));
    Tool job = make_tool("job", nullptr);
    job.task_support = TaskSupport::kOptional;
    job.call = [this](const nlohmann::json& arguments, CallContext& context) -> ToolAnswer {
      if (arguments.contains("wrong")) {
        ToolResult failed = text_result("wrong is wrong");
        failed.is_error = true;
        return failed;
      }
      if (context.task_wish() == TaskWish::kImpossible) return text_result("done at once");
      return tasks.add(context.principal().id, "task-1");
    };
    server.add_tool(std::move(job));
    Tool must = make_tool("must_be_a_task", nullptr);
    must.task_support = TaskSupport::kRequired;
    must.call = [this](const nlohmann::json&, CallContext& context) -> ToolAnswer {
      return tasks.add(context.principal().id, "task-2");
    };
    server.add_tool(std::move(must));
  }
};

}  // namespace mcp::fake
