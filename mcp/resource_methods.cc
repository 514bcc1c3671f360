// resources/list, resources/templates/list, resources/read.
#include "mcp/handlers.h"

#include <nlohmann/json.hpp>
#include "mcp/wire/shape.h"

namespace mcp {

using nlohmann::json;
using wire::Cache;

namespace {

RoundAnswer round_answer(ReadAnswer answer, const std::string& uri, const Call& call) {
  if (auto* wanted = std::get_if<InputRequired>(&answer)) return std::move(*wanted);
  if (auto* error = std::get_if<RpcError>(&answer)) return std::move(*error);
  const wire::Format& format = call.format();
  if (std::holds_alternative<NotFound>(answer)) {
    return RpcError{format.resource_not_found, "resource not found", json{{"uri", uri}}, nullptr};
  }
  json result;
  result["contents"] = json::array();
  for (json& one : *std::get<ResourceContents>(answer).contents) {
    result["contents"].push_back(wire::fit(std::move(one), format));
  }
  // Files change at any time.
  wire::add_cache_hints(result, Cache::kNever, format);
  return result;
}

}  // namespace

Server::Answer list_resources(const Server& server, Call& call) {
  const auto cursor = cursor_of(call.params());
  auto page = cursor ? server.resources()->list(*cursor, call) : std::nullopt;
  if (!page) return wrong_params("unknown cursor");
  json result;
  result["resources"] = json::array();
  for (json& one : *page->items)
    result["resources"].push_back(wire::fit(std::move(one), call.format()));
  if (page->next_cursor) result["nextCursor"] = *page->next_cursor;
  wire::add_cache_hints(result, Cache::kNever, call.format());
  return result;
}

Server::Answer list_templates(const Server& server, Call& call) {
  if (cursor_of(call.params()) != "") return wrong_params("unknown cursor");
  json result;
  result["resourceTemplates"] = json::array();
  for (json& one : server.resources()->templates()) {
    result["resourceTemplates"].push_back(wire::fit(std::move(one), call.format()));
  }
  wire::add_cache_hints(result, Cache::kPublic, call.format());
  return result;
}

Server::Answer read_resource(const Server& server, Call& call) {
  const std::string* uri = find_text(call.params(), "uri");
  if (uri == nullptr) return wrong_params("resources/read needs the uri of a resource");
  return in_rounds(server, call,
                   [&] { return round_answer(server.resources()->read(*uri, call), *uri, call); });
}

}  // namespace mcp
