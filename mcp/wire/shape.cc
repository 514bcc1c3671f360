#include "mcp/wire/shape.h"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace mcp::wire {

using nlohmann::json;

namespace {

// The tools of a server do not change while it lives, but a newer one may take its place.
constexpr int kListTtlMs = 300'000;

std::string text_of(const json& block, const char* name, const char* otherwise = "") {
  const auto member = block.find(name);
  return member != block.end() && member->is_string() ? member->get<std::string>() : otherwise;
}

json text_block(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

json link_as_text(const json& link) {
  std::string text = text_of(link, "name", "file") + ": " + text_of(link, "uri");
  if (link.contains("mimeType")) text += " (" + text_of(link, "mimeType") + ")";
  return text_block(std::move(text));
}

bool can_express(const json& structured_content, const Format& format) {
  if (!format.has_structured_content || structured_content.is_null()) return false;
  return structured_content.is_object() || format.has_any_structured_content;
}

const char* name_of(TaskSupport support) {
  switch (support) {
    case TaskSupport::kForbidden:
      return "forbidden";
    case TaskSupport::kOptional:
      return "optional";
    case TaskSupport::kRequired:
      return "required";
  }
  return "forbidden";
}

}  // namespace

json fit(json object, const Format& format) {
  if (!format.has_titles) object.erase("title");
  if (!format.has_icons) object.erase("icons");
  if (!format.has_metadata) object.erase("_meta");
  const auto annotations = object.find("annotations");
  if (annotations != object.end() && annotations->is_object() && !format.has_last_modified) {
    annotations->erase("lastModified");
  }
  return object;
}

json shape_block(json block, const Format& format) {
  const std::string type = block.value("type", "");
  if (type == "resource_link" && !format.has_resource_links) return link_as_text(block);
  if (type == "audio" && !format.has_audio) {
    return text_block("[audio " + text_of(block, "mimeType", "of unknown type") +
                      " left out: this protocol revision has none]");
  }
  if (type == "resource") block["resource"] = fit(std::move(block["resource"]), format);
  return fit(std::move(block), format);
}

json shape_tool(const Tool& tool, const Format& format, bool with_tasks) {
  json shaped = {{"name", tool.name}, {"description", tool.description}};
  shaped["inputSchema"] =
      tool.input_schema->is_null() ? json{{"type", "object"}} : *tool.input_schema;
  if (format.has_titles && !tool.title.empty()) shaped["title"] = tool.title;
  if (format.has_structured_content && !tool.output_schema->is_null()) {
    shaped["outputSchema"] = tool.output_schema;
  }
  if (format.has_tool_annotations && !tool.annotations->is_null()) {
    shaped["annotations"] = tool.annotations;
  }
  if (format.has_metadata && !tool.meta->is_null()) shaped["_meta"] = tool.meta;
  if (format.has_icons && !tool.icons->is_null()) shaped["icons"] = tool.icons;
  if (format.has_core_tasks && with_tasks && tool.task_support != TaskSupport::kForbidden) {
    shaped["execution"] = {{"taskSupport", name_of(tool.task_support)}};
  }
  return shaped;
}

json shape_prompt(const Prompt& prompt, const Format& format) {
  json arguments = json::array();
  for (const PromptArgument& argument : prompt.arguments) {
    json one = {{"name", argument.name},
                {"description", argument.description},
                {"required", argument.required}};
    if (!argument.title.empty()) one["title"] = argument.title;
    arguments.push_back(fit(std::move(one), format));
  }
  json shaped = {{"name", prompt.name}, {"description", prompt.description}};
  if (!arguments.empty()) shaped["arguments"] = std::move(arguments);
  if (!prompt.title.empty()) shaped["title"] = prompt.title;
  return fit(std::move(shaped), format);
}

json shape_tool_result(ToolResult result, const Format& format) {
  json content = json::array();
  for (json& block : *result.content) content.push_back(shape_block(std::move(block), format));
  json shaped = {{"isError", result.is_error}};
  shaped["content"] = std::move(content);
  if (can_express(result.structured_content, format)) {
    shaped["structuredContent"] = std::move(*result.structured_content);
  }
  if (!result.meta->is_null()) shaped["_meta"] = std::move(*result.meta);
  return shaped;
}

json finish_result(json result, const json& server_info, const Format& format) {
  if (!format.has_result_type) return result;
  if (!result.contains("resultType")) result["resultType"] = "complete";
  result["_meta"]["io.modelcontextprotocol/serverInfo"] = server_info;
  return result;
}

void add_cache_hints(json& result, Cache cache, const Format& format) {
  if (!format.has_result_type) return;
  result["ttlMs"] = cache == Cache::kPublic ? kListTtlMs : 0;
  result["cacheScope"] = cache == Cache::kPublic ? "public" : "private";
}

json shape_progress(const json& token, double progress, std::optional<double> total,
                    const std::string& message, const Format& format) {
  json params = {{"progressToken", token}, {"progress", progress}};
  if (total && std::isfinite(*total)) params["total"] = *total;
  if (format.has_progress_message && !message.empty()) params["message"] = message;
  return params;
}

}  // namespace mcp::wire
