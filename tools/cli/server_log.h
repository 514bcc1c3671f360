// Logs what a server has to say to its operator.
#pragma once

#include <vector>

#include "mcp/http/route.h"
#include "mcp/http/service.h"
#include "mcp/server.h"

namespace tools::cli {

// Faults as errors; requests at level debug, those with a W3C trace context at level info with it.
void log_events_of(mcp::Server& server);
// Every answered request is told of at level info.
void log_access(const mcp::http::AccessRecord& record);
// Lines that are logged while one of these is answered say whose request it is.
void name_requests(std::vector<mcp::http::Route>& routes);

}  // namespace tools::cli
