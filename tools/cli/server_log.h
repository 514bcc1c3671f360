// What a server has to say to its operator.
#pragma once

#include "mcp/server.h"

namespace tools::cli {

// Faults as errors; requests at level debug, those with a W3C trace context at level info with it.
void log_events_of(mcp::Server& server);

}  // namespace tools::cli
