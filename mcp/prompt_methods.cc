// prompts/list, prompts/get, completion/complete.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "mcp/handlers.h"
#include "mcp/wire/shape.h"

namespace mcp {

using nlohmann::json;

namespace {

// Nothing when one of them is no string.
std::optional<PromptArguments> read_arguments(const json& object) {
  PromptArguments arguments;
  if (object.is_null()) return arguments;
  if (!object.is_object()) return std::nullopt;
  for (const auto& [name, value] : object.items()) {
    if (!value.is_string()) return std::nullopt;
    arguments[name] = value.get<std::string>();
  }
  return arguments;
}

RoundAnswer round_answer(PromptAnswer answer, const wire::Format& format) {
  if (auto* wanted = std::get_if<InputRequired>(&answer)) return std::move(*wanted);
  if (auto* error = std::get_if<RpcError>(&answer)) return std::move(*error);
  auto& got = std::get<PromptResult>(answer);
  json result;
  if (!got.description.empty()) result["description"] = got.description;
  result["messages"] = json::array();
  for (json& message : *got.messages) {
    message["content"] = wire::shape_block(std::move(message["content"]), format);
    result["messages"].push_back(std::move(message));
  }
  return result;
}

Server::Answer completion_result(Completion completion) {
  const bool has_more = completion.values.size() > kCompletionsMax ||
                        (completion.total && *completion.total > 0 &&
                         static_cast<std::size_t>(*completion.total) > completion.values.size());
  if (completion.values.size() > kCompletionsMax) completion.values.resize(kCompletionsMax);
  json found = {{"values", completion.values}, {"hasMore", has_more}};
  if (completion.total) found["total"] = *completion.total;
  json result;
  result["completion"] = std::move(found);
  return result;
}

std::optional<CompletionQuery> read_query(const json& params) {
  const auto argument = params.find("argument");
  if (argument == params.end() || !argument->is_object()) return std::nullopt;
  const std::string* name = find_text(*argument, "name");
  const std::string* value = find_text(*argument, "value");
  if (name == nullptr || value == nullptr) return std::nullopt;
  CompletionQuery query{*name, *value, {}};
  const auto context = params.find("context");
  if (context != params.end() && context->is_object()) {
    auto known = read_arguments(context->value("arguments", json()));
    if (!known) return std::nullopt;
    query.known = std::move(*known);
  }
  return query;
}

}  // namespace

Server::Answer list_prompts(const Server& server, Call& call) {
  if (cursor_of(call.params()) != "") return wrong_params("unknown cursor");
  json result;
  result["prompts"] = json::array();
  for (const Prompt& prompt : server.prompts()) {
    result["prompts"].push_back(wire::shape_prompt(prompt, call.format()));
  }
  wire::add_cache_hints(result, wire::Cache::kPublic, call.format());
  return result;
}

Server::Answer get_prompt(const Server& server, Call& call) {
  const std::string* name = find_text(call.params(), "name");
  if (name == nullptr) return wrong_params("prompts/get needs the name of a prompt");
  const Prompt* prompt = server.find_prompt(*name);
  if (prompt == nullptr) return wrong_params("unknown prompt: " + name->substr(0, kEchoBytesMax));
  const auto arguments = read_arguments(call.params().value("arguments", json()));
  if (!arguments) return wrong_params("arguments must be an object of strings");
  for (const PromptArgument& argument : prompt->arguments) {
    if (argument.required && !arguments->contains(argument.name)) {
      return wrong_params("argument " + argument.name + " is missing");
    }
  }
  return in_rounds(server, call,
                   [&] { return round_answer(prompt->get(*arguments, call), call.format()); });
}

Server::Answer complete(const Server& server, Call& call) {
  const json& params = call.params();
  const auto query = read_query(params);
  if (!query) return wrong_params("completion/complete needs an argument with name and value");
  const auto ref = params.find("ref");
  const std::string* type =
      ref == params.end() || !ref->is_object() ? nullptr : find_text(*ref, "type");
  if (type != nullptr && *type == "ref/prompt") {
    const std::string* name = find_text(*ref, "name");
    const Prompt* prompt = name == nullptr ? nullptr : server.find_prompt(*name);
    if (prompt == nullptr) return wrong_params("unknown prompt");
    const auto& all = prompt->arguments;
    const bool known = std::any_of(all.begin(), all.end(), [&](const PromptArgument& one) {
      return one.name == query->argument;
    });
    if (!known) return wrong_params("the prompt has no such argument");
    return completion_result(prompt->complete ? prompt->complete(*query, call) : Completion{});
  }
  if (type != nullptr && *type == "ref/resource" && server.resources() != nullptr) {
    const std::string* uri = find_text(*ref, "uri");
    auto found = uri == nullptr ? std::nullopt : server.resources()->complete(*uri, *query, call);
    if (!found) return wrong_params("unknown resource template");
    return completion_result(std::move(*found));
  }
  return wrong_params("ref must be a prompt or a resource template of this server");
}

}  // namespace mcp
