// The Connect protocol with JSON, as its clients speak it: unary calls, and streams of the server.
// https://connectrpc.com/docs/protocol
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "mcp/http/message.h"
#include "mcp/http/route.h"
#include "sessions/session.h"
#include "tools/tools.h"

namespace tools::api::e2b {

// Holds what a call is made with: the session that its access token lets in to, and the message.
struct RpcCall {
  const mcp::http::Request& request;
  const sessions::Session& session;
  const nlohmann::json& message;
  std::stop_token gone = {};  // requested when a stream's reader has gone
};

// Sends one message of a stream that goes on. Returns false when the client has gone.
using Send = std::function<bool(const nlohmann::json& message)>;

// Makes the route POST /<service>/<method> of a call with one message and one answer.
mcp::http::Route unary(const Services& services, const char* path,
                       std::function<base::Result<nlohmann::json>(const RpcCall&)> answer,
                       mcp::http::Route::Work work = mcp::http::Route::Work::kCall);
// Makes such a route for a client that sends several messages: all are there before `answer` is
// called.
mcp::http::Route client_stream(
    const Services& services, const char* path,
    std::function<base::Result<nlohmann::json>(const RpcCall&, const std::vector<nlohmann::json>&)>
        answer);
// `stream` returns when the stream is to end; its Error is the client's.
mcp::http::Route server_stream(
    const Services& services, const char* path,
    std::function<base::Status(const RpcCall&, const Send& send)> stream);

// Returns whether the header E2b-Sandbox-Id or the host says which session is meant.
bool names_sandbox(const mcp::http::Request& request);
// Returns the session of the headers E2b-Sandbox-Id and X-Access-Token, or the other name of that.
base::Result<sessions::Session> session_of(const Services& services,
                                           const mcp::http::Request& request);
// Returns the session of those headers, or of a URL that is signed for this file and for what is
// done with it: it lets in to nothing else. Where neither a header nor the host says which session,
// kFoundSandbox of the request's parameters may.
inline constexpr const char* kFoundSandbox = "sandbox";
base::Result<sessions::Session> session_of_file(const Services& services,
                                                const mcp::http::Request& request);
// Returns whether an access token was sent, a right one or not. Without one, the answer is the same
// wherever and whether or not there is such a sandbox.
bool has_key(const mcp::http::Request& request);
inline constexpr const char* kKeyNeeded =
    "a sandbox's access token is needed, in the header X-Access-Token: POST /sandboxes and "
    "/sandboxes/{id}/connect give it";
// Makes a Route::identify of session_of() or session_of_file().
std::function<std::optional<mcp::auth::Challenge>(mcp::http::Request& head)> identified_by(
    const Services& services, decltype(session_of)* which);

// Returns what is said of a failure here: where its own words name what another API has, others.
std::string words_of(const base::Error& error);
// Returns {"code": "not_found", "message": "…"} with the status that Connect has for it.
mcp::http::Response refused(const base::Error& error);

}  // namespace tools::api::e2b
