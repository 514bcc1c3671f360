// Requests of several rounds.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
#include <chrono>

#include <nlohmann/json.hpp>

#include "mcp/client_capabilities.h"
#include "mcp/handlers.h"

namespace mcp {

using nlohmann::json;

namespace {

constexpr int kRoundsMax = 10;

// The rest are requests that the client did not declare.
json allowed_of(const json& requests, const json& declared, json& missing) {
  json allowed = json::object();
  for (const auto& [key, request] : requests.items()) {
    const json lacks = missing_capability(declared, request.at("method").get<std::string>(),
                                          request.value("params", json::object()));
    if (lacks.is_null()) {
      allowed[key] = request;
    } else {
      missing.merge_patch(lacks);
    }
  }
  return allowed;
}

Server::Answer ask_later(const Server& server, Call& call, const InputRequired& wanted) {
  json missing = json::object();
  json allowed = allowed_of(wanted.requests, call.client_capabilities(), missing);
  if (allowed.empty() && !wanted.requests->empty()) {
    return RpcError{kMissingClientCapability,
                    "this needs a capability that the client did not declare",
                    json{{"requiredCapabilities", std::move(missing)}}, nullptr};
  }
  json result = {{"resultType", "input_required"}};
  if (!allowed.empty()) result["inputRequests"] = std::move(allowed);
  if (!wanted.state->is_null()) {
    result["requestState"] = server.request_states().seal(wanted.state, call.principal().id,
                                                          call.method(), call.params());
  }
  return result;
}

// Nothing, or why it cannot go on.
std::optional<RpcError> ask_now(Call& call, const InputRequired& wanted) {
  json responses = json::object();
  for (const auto& [key, request] : wanted.requests->items()) {
    auto answer = call.ask_client(request.at("method").get<std::string>(),
                                  request.value("params", json::object()), kAnswerPatience);
    if (auto* none = std::get_if<NoAnswer>(&answer)) {
      return RpcError{kInvalidRequest, "the client was asked for input: " + none->message, nullptr,
                      nullptr};
    }
    responses[key] = std::get<json>(std::move(answer));
  }
  call.begin_round(std::move(responses), wanted.state);
  return std::nullopt;
}

std::optional<RpcError> read_round(const Server& server, Call& call) {
  const json& params = call.params();
  json responses = json::object();
  const auto given = params.find("inputResponses");
  if (given != params.end()) {
    if (!given->is_object()) return wrong_params("inputResponses must be an object");
    responses = *given;
  }
  json state = nullptr;
  const auto sealed = params.find("requestState");
  if (sealed != params.end()) {
    if (!sealed->is_string()) return wrong_params("requestState must be a string");
    auto opened = server.request_states().open(sealed->get_ref<const std::string&>(),
                                               call.principal().id, call.method(), params);
    if (!opened) return wrong_params("requestState is not one that was given for this request");
    state = std::move(*opened);
  }
  call.begin_round(std::move(responses), std::move(state));
  return std::nullopt;
}

}  // namespace

Server::Answer in_rounds(const Server& server, Call& call,
                         const std::function<RoundAnswer()>& handler) {
  if (call.format().modern) {
    if (auto wrong = read_round(server, call)) return std::move(*wrong);
  }
  for (int round = 1; round <= kRoundsMax; ++round) {
    RoundAnswer answer = handler();
    if (auto* error = std::get_if<RpcError>(&answer)) return std::move(*error);
    if (auto* result = std::get_if<json>(&answer)) return std::move(*result);
    const auto& wanted = std::get<InputRequired>(answer);
    if (call.format().modern) return ask_later(server, call, wanted);
    if (auto wrong = ask_now(call, wanted)) return std::move(*wrong);
  }
  return RpcError{kInternalError, "input was asked for too often", nullptr, nullptr};
}

}  // namespace mcp
