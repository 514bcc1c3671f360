// What a run prints, as it comes.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "mcp/http/message.h"
#include "sessions/manager.h"
#include "tools/tools.h"

namespace tools::rest::e2b {

struct Followed {
  // Bytes of "stdout" or "stderr". False: nobody wants more.
  std::function<bool(const char* stream, std::string bytes)> printed;
  // Nothing has come for long: the same.
  std::function<bool()> silent;
};

// Until it has ended, or nobody wants more, as when the client has `gone`: the run as it is then.
// kUnavailable: this server is to stop, and the run goes on.
base::Result<sessions::RunState> follow(const Services& services, const sessions::Session& session,
                                        sessions::RunState state, const Followed& followed,
                                        const std::stop_token& gone);

// Stops when the reader of the stream goes before its end.
std::stop_token gone_of(mcp::http::Stream& stream);

}  // namespace tools::rest::e2b
