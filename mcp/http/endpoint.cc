#include "mcp/http/endpoint.h"

#include <algorithm>

namespace mcp::http {
namespace {

bool fits(const Route& route, const std::string& path) {
  if (route.path.ends_with('/') && route.path.size() > 1) return path.starts_with(route.path);
  return path == route.path;
}

// An empty method takes them all.
bool takes(const Route& route, const std::string& method) {
  return route.method.empty() || route.method == method ||
         (route.method == "GET" && method == "HEAD");
}

}  // namespace

const Route* Endpoint::find(const Request& request) const {
  const Route* found = nullptr;
  for (const Route& route : routes_) {
    if (!fits(route, request.path)) continue;
    if (takes(route, request.method)) return &route;
    found = &route;  // the path is right, the method is not
  }
  return found;
}

bool Endpoint::admit(Request& head, Response& refusal) {
  const Route* route = find(head);
  bool in = door_.check_place(head, refusal);
  if (in && route == nullptr) {
    refusal = refuse(404, "nothing is served here: MCP is at /mcp");
    in = false;
  } else if (in && !takes(*route, head.method)) {
    refusal = refuse(405, "this path takes " + route->method);
    refusal.headers.emplace_back("Allow", route->method);
    in = false;
  } else if (in && !route->public_) {
    in = door_.check_token(head, refusal);
  }
  if (!in) door_.add_cross_origin(head, refusal);
  return in;
}

Response Endpoint::handle(Request request) {
  Response response = find(request)->answer(request);
  door_.add_cross_origin(request, response);
  return response;
}

void Endpoint::answered(const Request& request, int status, bool streams) {
  const auto took = std::chrono::steady_clock::now() - request.begun;
  const Route* route = find(request);
  metrics_.count(route == nullptr ? "other" : route->path, status, took);
  if (on_access_) on_access_({request, status, streams, took});
}

}  // namespace mcp::http
