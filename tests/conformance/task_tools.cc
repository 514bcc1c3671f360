// Tools that run as tasks, and one that never does.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/conformance/content.h"
#include "tests/conformance/fixtures.h"
#include "tests/conformance/input_required.h"
#include "tests/conformance/schemas.h"

namespace conformance {

using mcp::CallContext;
using mcp::TaskOutcome;
using mcp::TaskSupport;
using mcp::ToolAnswer;
using nlohmann::json;
using Seconds = std::chrono::duration<double>;

namespace {

constexpr double kSecondsMax = 600;

mcp::RpcError was_cancelled() {
  return {mcp::kInternalError, "the task was cancelled", nullptr, nullptr};
}

std::string text_argument(const json& arguments, const char* name) {
  const auto given = arguments.find(name);
  return given != arguments.end() && given->is_string() ? given->get<std::string>() : "";
}

TaskOutcome fail(RunningTask& task) {
  if (!task.pause(Seconds(1))) return was_cancelled();
  return error_result("This job fails always.");
}

TaskOutcome break_down(RunningTask&) {
  return mcp::RpcError{mcp::kInternalError, "This job breaks down always.", nullptr, nullptr};
}

TaskOutcome confirm(RunningTask& task, const std::string& file) {
  const auto answers = task.ask({{"confirm", ask_for_text("Delete " + file + "?", "confirm")}});
  if (!answers) return was_cancelled();
  const json action =
      answers->at("confirm").is_object() ? answers->at("confirm").value("action", json()) : json();
  return text_result((action == "accept" ? "Deleted " : "Kept ") + file);
}

TaskOutcome ask_twice_at_once(RunningTask& task) {
  const auto answers = task.ask({{"first", ask_for_text("What is your first name?", "name")},
                                 {"second", ask_for_text("What is your second name?", "name")}});
  if (!answers) return was_cancelled();
  return text_result("Got " + given_text(answers->at("first"), "name").value_or("nothing") +
                     " and " + given_text(answers->at("second"), "name").value_or("nothing"));
}

class TaskTools {
 public:
  TaskTools(mcp::Server& server, TaskTable& tasks) : server_(server), tasks_(tasks) {}

  void add_greet() {
    mcp::Tool tool;
    tool.name = "greet";
    tool.description = "Greets, at once";
    tool.input_schema = text_schema("name", "Whom to greet");
    tool.call = [](const json& arguments, CallContext&) -> ToolAnswer {
      return text_result("Hello, " + text_argument(arguments, "name") + "!");
    };
    server_.add_tool(std::move(tool));
  }

  // Also for clients that know no tasks: they wait.
  void add_slow_compute() {
    mcp::Tool tool;
    tool.name = "slow_compute";
    tool.description = "Takes as long as it is told to";
    tool.input_schema =
        object_schema({{"seconds", {{"type", "number"}}}, {"label", {{"type", "string"}}}});
    tool.task_support = TaskSupport::kOptional;
    tool.call = [this](const json& arguments, CallContext& context) -> ToolAnswer {
      const json given = arguments.value("seconds", json());
      if (!given.is_number()) return error_result("seconds must be a number");
      const Seconds seconds(std::clamp(given.get<double>(), 0.0, kSecondsMax));
      const std::string done = "Computed " + text_argument(arguments, "label");
      auto task = start(context, [seconds, done](RunningTask& running) -> TaskOutcome {
        if (!running.pause(seconds)) return was_cancelled();
        return text_result(done);
      });
      if (context.task_wish() != mcp::TaskWish::kImpossible) return task;
      return wait_for(task, context);
    };
    server_.add_tool(std::move(tool));
  }

  // A tool that can only run as a task.
  void add(const std::string& name, const std::string& description, json schema,
           std::function<TaskOutcome(RunningTask&, const json& arguments)> work) {
    mcp::Tool tool;
    tool.name = name;
    tool.description = description;
    tool.input_schema = std::move(schema);
    tool.task_support = TaskSupport::kRequired;
    tool.call = [this, work = std::move(work)](const json& arguments,
                                               CallContext& context) -> ToolAnswer {
      return start(context,
                   [work, arguments](RunningTask& running) { return work(running, arguments); });
    };
    server_.add_tool(std::move(tool));
  }

  // Asks in a round of its own before it becomes a task.
  void add_round_before_task() {
    mcp::Tool tool;
    tool.name = "test_tool_with_task";
    tool.description = "Asks for a name, and greets in a task";
    tool.task_support = TaskSupport::kRequired;
    tool.call = [this](const json&, CallContext& context) -> ToolAnswer {
      const auto name = given_text(context, "user_name", "name");
      if (!name) {
        return mcp::InputRequired{json{{"user_name", ask_for_text("What is your name?", "name")}},
                                  {}};
      }
      return start(context, [name](RunningTask&) { return text_result("Hello, " + *name + "!"); });
    };
    server_.add_tool(std::move(tool));
  }

 private:
  mcp::Task start(const CallContext& context, TaskTable::Work work) {
    return tasks_.start(context.principal(), context.task_ttl(), std::move(work));
  }

  ToolAnswer wait_for(const mcp::Task& task, const CallContext& context) {
    tasks_.wait(context.principal(), task.id, std::chrono::minutes(20), context.cancelled());
    auto outcome = tasks_.outcome(context.principal(), task.id);
    if (!outcome) {
      tasks_.cancel(context.principal(), task.id);
      return was_cancelled();
    }
    if (auto* error = std::get_if<mcp::RpcError>(&*outcome)) return std::move(*error);
    return std::get<mcp::ToolResult>(std::move(*outcome));
  }

  mcp::Server& server_;
  TaskTable& tasks_;
};

}  // namespace

void add_task_tools(mcp::Server& server, TaskTable& tasks) {
  static TaskTools tools(server, tasks);
  tasks.report_to(server.changes());
  server.set_tasks(tasks);
  tools.add_greet();
  tools.add_slow_compute();
  tools.add("failing_job", "Fails after a second", nullptr,
            [](RunningTask& task, const json&) { return fail(task); });
  tools.add("protocol_error_job", "Ends with a protocol error", nullptr,
            [](RunningTask& task, const json&) { return break_down(task); });
  tools.add("confirm_delete", "Asks before it pretends to delete a file",
            text_schema("filename", "What to delete"), [](RunningTask& task, const json& given) {
              return confirm(task, text_argument(given, "filename"));
            });
  tools.add("multi_input", "Asks two questions at once", nullptr,
            [](RunningTask& task, const json&) { return ask_twice_at_once(task); });
  tools.add_round_before_task();
}

}  // namespace conformance
