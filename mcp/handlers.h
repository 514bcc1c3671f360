// The methods that answer from what the server offers; each reads the parameters of one call. One
// .cc file per group.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "mcp/call.h"
#include "mcp/server.h"

namespace mcp {

// These are in tool_methods.cc.
Server::Answer list_tools(const Server& server, Call& call);
Server::Answer call_tool(const Server& server, Call& call);
// Returns kMissingClientCapability where a modern tools/call is known to need what was not
// declared. A thing that a tool asks for only while it runs is refused then.
std::optional<RpcError> refuse_call(const Server& server, const nlohmann::json& params,
                                    const nlohmann::json& declared_capabilities);
// Returns the whole reply to a call of any method that is not begun, since too much waits.
nlohmann::json too_many_calls(const Server& server, const Request& request, int retry_seconds);

// These are in resource_methods.cc.
Server::Answer list_resources(const Server& server, Call& call);
Server::Answer list_templates(const Server& server, Call& call);
Server::Answer read_resource(const Server& server, Call& call);

// These are in prompt_methods.cc.
Server::Answer list_prompts(const Server& server, Call& call);
Server::Answer get_prompt(const Server& server, Call& call);
Server::Answer complete(const Server& server, Call& call);

// These are in task_methods.cc.
Server::Answer get_task(const Server& server, Call& call);
Server::Answer cancel_task(const Server& server, Call& call);
Server::Answer update_task(const Server& server, Call& call);
Server::Answer list_tasks(const Server& server, Call& call);
Server::Answer task_result(const Server& server, Call& call);

// A person may take so long to read and answer what is asked of them.
inline constexpr std::chrono::minutes kAnswerPatience{10};

// It is in rounds.cc. Reads what belongs to a round of this call, then runs `handler`, which says
// what it has come to or asks the client for more; the latter is turned into what the revision has
// for it.
using RoundAnswer = std::variant<nlohmann::json, InputRequired, RpcError>;
Server::Answer in_rounds(const Server& server, Call& call,
                         const std::function<RoundAnswer()>& handler);

// These read parameters, in the same way everywhere.

constexpr std::size_t kEchoBytesMax = 200;  // the most of a client's words in our errors

RpcError wrong_params(std::string message);
// Returns null when there is no such member, or it is no string.
const std::string* find_text(const nlohmann::json& object, const char* name);
// Returns the cursor: empty when none was given, nothing for one that cannot be.
std::optional<std::string> cursor_of(const nlohmann::json& params);

}  // namespace mcp
