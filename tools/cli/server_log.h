// What a server has to say to its operator.
#pragma once

#include <string>

#include "mcp/server.h"

namespace tools::cli {

// `format`: text or json; `level`: as spdlog calls it. Each message is one line on standard error.
void set_up_log(const std::string& format, const std::string& level);

// Faults as errors; requests at level debug, those with a W3C trace context at level info with it.
void log_events_of(mcp::Server& server);

}  // namespace tools::cli
