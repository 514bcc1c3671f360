#include "tools/api/openapi.h"

#include <algorithm>
#include <cctype>
#include <string>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "tools/api/summaries.h"

namespace tools::api {

using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;

namespace {

constexpr const char* kToken = "token";
constexpr const char* kKey = "key";
constexpr const char* kSandboxToken = "sandbox_token";  // for one sandbox, as E2B's SDKs have it

// Returns the parameters in a path, as the id of "/sandboxes/{id}", and those of the query.
json parameters_of(const std::string& path, const Summary* summary) {
  json parameters = json::array();
  for (std::size_t begin = path.find('{'); begin != path.npos; begin = path.find('{', begin + 1)) {
    parameters.push_back({{"name", path.substr(begin + 1, path.find('}', begin) - begin - 1)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}}}});
  }
  if (summary == nullptr) return parameters;
  for (const QueryMember& member : summary->query) {
    parameters.push_back({{"name", member.name},
                          {"in", "query"},
                          {"required", false},
                          {"description", member.meaning},
                          {"schema", {{"type", "string"}}}});
  }
  return parameters;
}

json body_of(const Route& route) {
  json content = json::object();
  if (!route.body_schema.empty()) {
    content["application/json"]["schema"] = json::parse(route.body_schema);
  }
  if (route.takes_parts && route.method != "GET") {
    json parts = {{"file", {{"type", "string"}, {"format", "binary"}}}};
    if (!route.identify) parts["path"] = {{"type", "string"}};  // E2B's have it in the file's name
    content["multipart/form-data"]["schema"] = {{"type", "object"}, {"properties", parts}};
    content["application/octet-stream"] = json::object();
  }
  return content;
}

json operation_of(const Route& route) {
  json operation = {{"responses", {{"default", {{"description", "what it gives, or why not"}}}}}};
  const Summary* summary = find_summary(route.method, route.path);
  if (summary != nullptr) operation["summary"] = summary->line;
  if (json parameters = parameters_of(route.path, summary); !parameters.empty()) {
    operation["parameters"] = std::move(parameters);
  }
  if (json content = body_of(route); !content.empty()) {
    operation["requestBody"]["content"] = std::move(content);
  }
  if (route.access == Route::Access::kPublic) {
    operation["security"] = json::array();
    if (route.identify) operation["security"].push_back({{kSandboxToken, json::array()}});
  }
  return operation;
}

json described(const std::vector<Route>& routes, const std::string& version) {
  json paths = json::object();
  for (const Route& route : routes) {
    if (route.path.empty() || route.method.empty()) continue;
    paths[route.path][base::lower(route.method)] = operation_of(route);
  }
  return {
      {"openapi", "3.1.0"},
      {"info", {{"title", "hutch"}, {"version", version}}},
      {"security", {{{kToken, json::array()}}, {{kKey, json::array()}}}},
      {"components",
       {{"securitySchemes",
         {{kToken, {{"type", "http"}, {"scheme", "bearer"}}},
          {kKey, {{"type", "apiKey"}, {"in", "header"}, {"name", "X-API-Key"}}},
          {kSandboxToken, {{"type", "apiKey"}, {"in", "header"}, {"name", "X-Access-Token"}}}}}}},
      {"paths", std::move(paths)}};
}

}  // namespace

Route openapi_route(const std::vector<Route>& routes, const std::string& version) {
  Route route;
  route.method = "GET";
  route.path = "/openapi.json";
  route.access = Route::Access::kPublic;
  route.body_bytes = 0;
  route.answer = [text = base::print_json(described(routes, version))](const Request&) {
    Response response;
    response.content_type = "application/json";
    response.body = text;
    return response;
  };
  return route;
}

}  // namespace tools::api
