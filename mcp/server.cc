#include "mcp/server.h"

#include <algorithm>
#include <cassert>

#include <nlohmann/json.hpp>

#include "mcp/wire/shape.h"

namespace mcp {

using nlohmann::json;
using wire::Format;

Server::Server(ServerInfo info)
    : info_(std::move(info)),
      changes_(std::make_unique<Changes>()),
      request_states_(std::make_unique<RequestStates>()) {
  changes_->on_watch(
      [this](const std::string& principal_id, const Change& subject) {
        if (subject.kind == Change::Kind::kTask) {
          if (tasks_ != nullptr) tasks_->watch(principal_id, subject.subject);
        } else if (resources_ != nullptr) {
          resources_->watch(principal_id, subject.subject);
        }
      },
      [this](const std::string& principal_id, const Change& subject) {
        if (subject.kind == Change::Kind::kTask) {
          if (tasks_ != nullptr) tasks_->unwatch(principal_id, subject.subject);
        } else if (resources_ != nullptr) {
          resources_->unwatch(principal_id, subject.subject);
        }
      },
      [this](const std::string& principal_id) {
        if (tasks_ != nullptr) tasks_->settle(principal_id);
        if (resources_ != nullptr) resources_->settle(principal_id);
      });
}

void Server::add_tool(Tool tool) {
  assert(find_tool(tool.name) == nullptr);
  tools_.push_back(std::move(tool));
}

void Server::add_prompt(Prompt prompt) {
  assert(find_prompt(prompt.name) == nullptr);
  prompts_.push_back(std::move(prompt));
}

void Server::set_resources(ResourceProvider& resources) { resources_ = &resources; }

void Server::set_tasks(TaskSource& tasks) { tasks_ = &tasks; }

const Tool* Server::find_tool(std::string_view name) const {
  const auto tool =
      std::find_if(tools_.begin(), tools_.end(), [name](const Tool& t) { return t.name == name; });
  return tool == tools_.end() ? nullptr : &*tool;
}

const Prompt* Server::find_prompt(std::string_view name) const {
  const auto prompt = std::find_if(prompts_.begin(), prompts_.end(),
                                   [name](const Prompt& p) { return p.name == name; });
  return prompt == prompts_.end() ? nullptr : &*prompt;
}

bool Server::has_completions() const {
  return (resources_ != nullptr && resources_->completes()) ||
         std::any_of(prompts_.begin(), prompts_.end(),
                     [](const Prompt& prompt) { return prompt.complete != nullptr; });
}

bool Server::has_changes() const {
  return tools_may_change_ || prompts_may_change_ ||
         (resources_ != nullptr && (resources_->can_subscribe() || resources_->list_may_change()));
}

void Server::report_fault(const std::string& what) const {
  if (fault_hook_) fault_hook_(what);
}

json Server::identity(const Format& format) const {
  json value = {{"name", info_.name}, {"version", info_.version}};
  if (format.has_titles && !info_.title.empty()) value["title"] = info_.title;
  if (format.has_websites && !info_.website.empty()) value["websiteUrl"] = info_.website;
  return value;
}

json Server::capabilities(const Format& format) const {
  const json none = json::object();
  json all = none;
  all["tools"] = none;
  if (tools_may_change_) all["tools"]["listChanged"] = true;
  if (!prompts_.empty()) all["prompts"] = none;
  if (!prompts_.empty() && prompts_may_change_) all["prompts"]["listChanged"] = true;
  if (resources_ != nullptr) {
    all["resources"] = none;
    if (resources_->can_subscribe()) all["resources"]["subscribe"] = true;
    if (resources_->list_may_change()) all["resources"]["listChanged"] = true;
  }
  if (logging_) all["logging"] = none;
  if (format.has_completions && has_completions()) all["completions"] = none;
  if (tasks_ != nullptr && format.has_core_tasks) {
    all["tasks"] = {{"list", none}, {"cancel", none}, {"requests", {{"tools", {{"call", none}}}}}};
  }
  if (tasks_ != nullptr && format.modern) all["extensions"] = {{kTasksExtension, none}};
  return all;
}

json Server::initialize(const Format& format) const {
  json result = {{"protocolVersion", format.name},
                 {"capabilities", capabilities(format)},
                 {"serverInfo", identity(format)}};
  if (!info_.instructions.empty()) result["instructions"] = info_.instructions;
  return result;
}

json Server::discover(const Format& format) const {
  json versions = json::array();
  // Modern ones only: clients take this list for what a self-describing request may claim.
  for (const Format* modern : wire::modern_formats()) versions.push_back(modern->name);
  json result = {{"supportedVersions", std::move(versions)},
                 {"capabilities", capabilities(format)}};
  if (!info_.instructions.empty()) result["instructions"] = info_.instructions;
  wire::add_cache_hints(result, wire::Cache::kPublic, format);
  return result;
}

}  // namespace mcp
