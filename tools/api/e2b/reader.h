// The client that reads a stream of ours.
#pragma once

#include <chrono>
#include <stop_token>

#include "mcp/http/message.h"

namespace tools::api::e2b {

// Whoever follows a run hears of it at least so often.
inline constexpr std::chrono::seconds kSilentFor{50};

// Stops when the reader of the stream goes before its end.
std::stop_token gone_of(mcp::http::Stream& stream);

}  // namespace tools::api::e2b
