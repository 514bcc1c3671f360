// Passes on what a run prints, as it comes.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "mcp/http/message.h"
#include "sessions/run_state.h"
#include "sessions/session.h"
#include "tools/tools.h"

namespace tools::rest::e2b {

struct Followed {
  // Takes bytes of "stdout" or "stderr". Returns false when nobody wants more.
  std::function<bool(const char* stream, std::string bytes)> printed;
  // Hears that nothing has come for long. Returns false when nobody wants more.
  std::function<bool()> silent;
};

// Follows the run until it has ended, or nobody wants more, as when the client has `gone`. Returns
// the run as it is then. Fails with kUnavailable when this server is to stop; the run goes on.
base::Result<sessions::RunState> follow(const Services& services, const sessions::Session& session,
                                        sessions::RunState state, const Followed& followed,
                                        const std::stop_token& gone);

// Stops when the reader of the stream goes before its end.
std::stop_token gone_of(mcp::http::Stream& stream);

}  // namespace tools::rest::e2b
