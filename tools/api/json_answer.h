// Answers in JSON, and what an Error is in HTTP.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "mcp/http/message.h"

namespace tools::api {

mcp::http::Response json_answer(int status, const nlohmann::json& value);

// Returns a 204.
mcp::http::Response empty_answer();

int status_of(const base::Error& error);

// Returns the refusal, which says when to try again where that is known.
mcp::http::Response with_retry_after(const base::Error& error, mcp::http::Response refusal);

}  // namespace tools::api
