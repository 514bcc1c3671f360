#include "tools/api/api.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "base/full_disk.h"
#include "base/json.h"
#include "mcp/half_characters.h"
#include "sandbox/limits.h"
#include "tools/api/json_answer.h"

namespace tools::api {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using nlohmann::json;

namespace {

// Code and as much again, for what is escaped in it.
constexpr std::size_t kBodyBytesMax = std::size_t{2} * sandbox::kCodeBytesMax;

Response answer(const Operation& operation, const Refusal& refusal, const Request& request) {
  const auto answered = [&]() -> base::Result<Response> {
    const Arguments body = TRY(body_of(operation.body, request));
    return operation.answer(request, body);
  }();
  if (answered.ok()) return answered.value();
  const Error& error = answered.error();
  if (base::is_full_disk(error)) {
    spdlog::warn("{} {}: {}", operation.method, operation.path, error.message);
  } else if (error.kind == Error::Kind::kInternal) {
    spdlog::error("{} {}: {}", operation.method, operation.path, error.message);
  }
  return with_retry_after(error, refusal(status_of(error), error.message));
}

}  // namespace

base::Result<json> parse_body(std::string_view body) {
  auto parsed = base::parse_json(body);
  if (parsed.ok()) return parsed;
  auto again = mcp::parse_halves(body, [](std::string_view whole) -> std::optional<json> {
    auto value = base::parse_json(whole);
    if (value.ok()) return std::move(value).value();
    return std::nullopt;
  });
  if (again) return *std::move(again);
  return parsed;
}

base::Result<Arguments> body_of(const std::vector<Argument>& table, const Request& request) {
  if (table.empty() || request.body.empty()) return check_arguments(table, json());
  const auto parsed = parse_body(request.body);
  if (!parsed.ok() || !parsed.value().is_object()) {
    return base::error(Error::Kind::kInvalid, "the body must be a JSON object");
  }
  json known = json::object();
  for (const Argument& row : table) {
    const auto member = parsed.value().find(row.name);
    if (member != parsed.value().end()) known[row.name] = *member;
  }
  return check_arguments(table, known);
}

mcp::http::Route route_of(Operation operation, const Refusal& refusal) {
  using Access = mcp::http::Route::Access;
  mcp::http::Route route;
  route.method = operation.method;
  route.path = operation.path;
  route.access = operation.changes ? Access::kChanges : Access::kReads;
  route.body_bytes = kBodyBytesMax;
  route.work = operation.work;
  route.refusal = refusal;
  if (!operation.body.empty()) {
    route.body_schema = base::print_json(schema_of(operation.body));
  }
  route.answer = [operation = std::make_shared<const Operation>(std::move(operation)),
                  refusal](const Request& request) { return answer(*operation, refusal, request); };
  return route;
}

Response refused_with_code(int status, const std::string& message) {
  return json_answer(status, {{"code", status}, {"message", message}});
}

Operation::Answer With::operator()(base::Result<Response> (*function)(const Services&,
                                                                      const Request&)) const {
  return [&services = services_, function](const Request& request, const Arguments&) {
    return function(services, request);
  };
}

Operation::Answer With::operator()(base::Result<Response> (*function)(const Services&,
                                                                      const Request&,
                                                                      const Arguments&)) const {
  return [&services = services_, function](const Request& request, const Arguments& body) {
    return function(services, request, body);
  };
}

std::vector<mcp::http::Route> routes_of(std::vector<Operation> operations, const Refusal& refusal) {
  std::vector<mcp::http::Route> routes;
  for (Operation& operation : operations) {
    routes.push_back(route_of(std::move(operation), refusal));
  }
  return routes;
}

base::Result<std::optional<std::int64_t>> number_in_query(const Request& request,
                                                          const char* name) {
  const auto asked = request.query.find(name);
  if (asked == request.query.end()) return std::optional<std::int64_t>();
  const auto number = base::number_of<std::int64_t>(asked->second);
  if (!number) {
    return base::error(Error::Kind::kInvalid, std::string(name) + " must be a whole number");
  }
  return number;
}

}  // namespace tools::api
