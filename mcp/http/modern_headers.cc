#include "mcp/http/modern_headers.h"

#include <charconv>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "mcp/http/header_value.h"
#include "mcp/wire/revision.h"

namespace mcp::http {

using nlohmann::json;

namespace {

constexpr std::string_view kVersionHeader = "MCP-Protocol-Version";
constexpr std::string_view kMethodHeader = "Mcp-Method";
constexpr std::string_view kNameHeader = "Mcp-Name";
constexpr std::string_view kParameterPrefix = "Mcp-Param-";
constexpr const char* kAnnotation = "x-mcp-header";
constexpr int kSchemaDepthMax = 16;

RpcError mismatch(std::string_view name, const std::string& what) {
  return {kHeaderMismatch, "header mismatch: " + std::string(name) + " " + what, nullptr, nullptr};
}

// The member of params that Mcp-Name repeats; null: this method has none.
const char* named_by(const std::string& method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  if (method == "resources/read") return "uri";
  if (method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel") {
    return "taskId";
  }
  return nullptr;
}

std::optional<RpcError> check_name(const Request& request, const Message& message) {
  const char* member = named_by(message.method);
  if (member == nullptr) return std::nullopt;
  if (!request.has_header(kNameHeader)) return mismatch(kNameHeader, "is missing");
  const auto name = decode_header_value(request.header(kNameHeader));
  if (!name) return mismatch(kNameHeader, "is no base64");
  const auto value = message.params->find(member);
  const bool same = value != message.params->end() && value->is_string() &&
                    value->get_ref<const std::string&>() == *name;
  if (!same) return mismatch(kNameHeader, std::string("is not ") + member + " of the body");
  return std::nullopt;
}

// Numbers by value, so "42" and "42.0" are the same.
bool same_value(const std::string& header, const json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>() == header;
  if (value.is_boolean()) return header == (value.get<bool>() ? "true" : "false");
  if (!value.is_number()) return false;
  if (const auto whole = base::number_of<std::int64_t>(header)) return value == json(*whole);
  double number = 0;
  const char* end = header.data() + header.size();
  const auto real = std::from_chars(header.data(), end, number);
  return real.ec == std::errc() && real.ptr == end && value == json(number);
}

std::optional<RpcError> check_parameter(const Request& request, const std::string& name,
                                        const json* value) {
  const std::string header = std::string(kParameterPrefix) + name;
  if (request.headers.count(header) > 1) return mismatch(header, "is there twice");
  const bool given = request.has_header(header);
  // The library drops a header without a value, so none and an empty one are the same here.
  const bool is_empty = value != nullptr && *value == "";
  const bool expected = value != nullptr && !value->is_null() && !(is_empty && !given);
  if (!given) return expected ? std::optional(mismatch(header, "is missing")) : std::nullopt;
  const auto text = decode_header_value(request.header(header));
  if (!text) return mismatch(header, "is no base64");
  if (!expected) return mismatch(header, "has no argument in the body");
  if (!same_value(*text, *value)) return mismatch(header, "is not what the body says");
  return std::nullopt;
}

// Annotations are found through `properties` only.
std::optional<RpcError> check_parameters(const Request& request, const json& schema,
                                         const json* arguments, int depth) {
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object() || depth > kSchemaDepthMax) {
    return std::nullopt;
  }
  for (const auto& [name, property] : properties->items()) {
    if (!property.is_object()) continue;
    const bool inside = arguments != nullptr && arguments->is_object() && arguments->contains(name);
    const json* value = inside ? &(*arguments)[name] : nullptr;
    const auto annotation = property.find(kAnnotation);
    auto wrong = annotation != property.end() && annotation->is_string()
                     ? check_parameter(request, annotation->get_ref<const std::string&>(), value)
                     : check_parameters(request, property, value, depth + 1);
    if (wrong) return wrong;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RpcError> check_standard_headers(const Request& request, const Message& message,
                                               const ModernMeta& meta) {
  for (const std::string_view name : {kVersionHeader, kMethodHeader, kNameHeader}) {
    if (request.headers.count(name) > 1) return mismatch(name, "is there twice");
  }
  const bool has_version = request.has_header(kVersionHeader);
  if (has_version && base::trim(request.header(kVersionHeader)) != meta.claim) {
    return mismatch(kVersionHeader, "is not the protocol version of the body");
  }
  const bool has_method = request.has_header(kMethodHeader);
  if (has_method && base::trim(request.header(kMethodHeader)) != message.method) {
    return mismatch(kMethodHeader, "is not the method of the body");
  }
  if (meta.format == nullptr) return unsupported_revision(meta.claim);
  if (!has_version) return mismatch(kVersionHeader, "is missing");
  if (!has_method) return mismatch(kMethodHeader, "is missing");
  return check_name(request, message);
}

std::optional<RpcError> check_parameter_headers(const Request& request, const Message& message,
                                                const Server& server) {
  const auto name = message.params->find("name");
  if (message.method != "tools/call" || name == message.params->end() || !name->is_string()) {
    return std::nullopt;
  }
  const Tool* tool = server.find_tool(name->get_ref<const std::string&>());
  if (tool == nullptr || !tool->input_schema->is_object()) return std::nullopt;
  const auto arguments = message.params->find("arguments");
  return check_parameters(request, tool->input_schema,
                          arguments == message.params->end() ? nullptr : &*arguments, 0);
}

bool header_is_modern(const Request& request) {
  const wire::Format* format = wire::find_format(base::trim(request.header(kVersionHeader)));
  return format != nullptr && format->modern;
}

}  // namespace mcp::http
