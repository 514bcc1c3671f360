// Server says what this server is and offers, which is the same for every connection and transport.
// It is set up before the first connection, then read by many threads.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mcp/changes.h"
#include "mcp/message.h"
#include "mcp/prompts.h"
#include "mcp/request_states.h"
#include "mcp/resources.h"
#include "mcp/tasks.h"
#include "mcp/tool.h"
#include "mcp/wire/revision.h"

namespace mcp {

struct ServerInfo {
  std::string name;
  std::string title;  // empty: none
  std::string version;
  std::string instructions;  // for the model; empty: none
  std::string website = {};  // URL; empty: none
};

class Server {
 public:
  explicit Server(ServerInfo info);

  // Listed in the order they are added. Their names differ.
  void add_tool(Tool tool);
  void add_prompt(Prompt prompt);
  // There is one of each; both outlive the server.
  void set_resources(ResourceProvider& resources);
  void set_tasks(TaskSource& tasks);
  // Clients may ask for log messages: CallContext::log() reaches them.
  void enable_logging() { logging_ = true; }
  // Uses these keys to seal request state; servers that are to continue each other's requests share
  // them.
  void use_state_keys(StateKeys keys) {
    request_states_ = std::make_unique<RequestStates>(std::move(keys));
  }
  // The server will call changes().tools_changed() or prompts_changed().
  void tools_may_change() { tools_may_change_ = true; }
  void prompts_may_change() { prompts_may_change_ = true; }

  [[nodiscard]] const std::vector<Tool>& tools() const { return tools_; }
  [[nodiscard]] const std::vector<Prompt>& prompts() const { return prompts_; }
  [[nodiscard]] const Tool* find_tool(std::string_view name) const;
  [[nodiscard]] const Prompt* find_prompt(std::string_view name) const;
  [[nodiscard]] ResourceProvider* resources() const { return resources_; }  // null: none
  [[nodiscard]] TaskSource* tasks() const { return tasks_; }                // null: none
  [[nodiscard]] bool has_logging() const { return logging_; }
  [[nodiscard]] bool has_completions() const;
  [[nodiscard]] bool has_changing_tools() const { return tools_may_change_; }
  [[nodiscard]] bool has_changing_prompts() const { return prompts_may_change_; }
  // Something a client can be told of without having asked each time.
  [[nodiscard]] bool has_changes() const;
  [[nodiscard]] Changes& changes() const { return *changes_; }
  [[nodiscard]] const RequestStates& request_states() const { return *request_states_; }

  // The hook is told of what a tool throws and of what fails here without a client's fault, in one
  // line; it is called from any thread. Clients see only that there was an internal error.
  void on_fault(std::function<void(const std::string& what)> hook) {
    fault_hook_ = std::move(hook);
  }
  void report_fault(const std::string& what) const;

  // A CallHook is told of each request that was answered by a worker or at once, but for the
  // opening of a connection: its method, with the name of the tool, and how long that took. It is
  // called from any thread.
  using CallHook = std::function<void(const CallContext& context, const std::string& what,
                                      std::chrono::milliseconds took)>;
  void on_call(CallHook hook) { call_hook_ = std::move(hook); }
  void report_call(const CallContext& context, const std::string& what,
                   std::chrono::milliseconds took) const {
    if (call_hook_) call_hook_(context, what, took);
  }

  // An Answer is a result before finish_result(), or an error without its id.
  using Answer = std::variant<nlohmann::json, RpcError>;

  [[nodiscard]] nlohmann::json initialize(const wire::Format& format) const;
  [[nodiscard]] nlohmann::json discover(const wire::Format& format) const;
  // Returns the capabilities that follow from what is registered, in the words of the revision.
  [[nodiscard]] nlohmann::json capabilities(const wire::Format& format) const;
  // Returns the Implementation object.
  [[nodiscard]] nlohmann::json identity(const wire::Format& format) const;

 private:
  ServerInfo info_;
  std::vector<Tool> tools_;
  std::vector<Prompt> prompts_;
  ResourceProvider* resources_ = nullptr;
  TaskSource* tasks_ = nullptr;
  bool logging_ = false;
  bool tools_may_change_ = false;
  bool prompts_may_change_ = false;
  std::unique_ptr<Changes> changes_;
  std::unique_ptr<RequestStates> request_states_;
  std::function<void(const std::string&)> fault_hook_;
  CallHook call_hook_;
};

}  // namespace mcp
