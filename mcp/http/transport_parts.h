// The transports over HTTP share these parts and functions.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "mcp/auth/authenticator.h"
#include "mcp/http/budget.h"
#include "mcp/http/keep_alive.h"
#include "mcp/http/legacy_sessions.h"
#include "mcp/http/message.h"
#include "mcp/inbound.h"
#include "mcp/message.h"
#include "mcp/server.h"

namespace mcp::http {

struct TransportParts {
  const Server& server;
  RunWork run;  // for calls
  // Returns in how many seconds a principal may call again that calls too often; it may be null.
  std::function<std::optional<int>(const std::string& principal_id)> too_often;
  auth::Authorizer authorize;  // may be null
  KeepAlive& keep_alive;
  LegacySessions::Limits session_limits;
  std::shared_ptr<FairBudget> open_messages;  // requests whose calls are open or waiting
  std::shared_ptr<Budget> logs;               // all sessions' together
  ConnectionEnded session_ended;
  // An answer that takes longer becomes a stream; at once when so many threads wait already.
  std::chrono::milliseconds json_patience{500};
  std::size_t json_waiters = 96;
  // Tools during whose calls a client that can resume is made to: its stream ends at once.
  std::set<std::string> polled_tools;
};

// Returns the options for a connection of this principal; its transport adds what it knows itself.
Connection::Options connection_options(const TransportParts& parts, const Principal& principal);

// Makes a response of an answer, under the HTTP status that goes with it.
Response json_response(int status, const nlohmann::json& message);
// Makes a response of an error; it has no id when `error` has none.
Response error_response(int status, RpcError error);

// Refuses what there is no room for now: when to try again is in the headers.
Response refuse_for_now(const std::string& message);
void add_retry_after(Response& response, int seconds = kRetryAfterSeconds);

// Makes a response of an answer to a request that was begun, or refused for what goes on beside it:
// then 429, and when to try again.
Response answer_response(int status, const nlohmann::json& answer);
// Returns the refusal when whoever asks may not do all that is asked for, else nothing.
std::optional<Response> refuse_unauthorized(const TransportParts& parts, const Request& request,
                                            const Inbound& inbound);

// Return whether the Accept header takes both JSON and event streams, or event streams alone.
bool accepts_both(const Request& request);
bool accepts_events(const Request& request);
bool content_is_json(const Request& request);

}  // namespace mcp::http
