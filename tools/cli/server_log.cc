#include "tools/cli/server_log.h"

#include <spdlog/spdlog.h>

namespace tools::cli {

void log_events_of(mcp::Server& server) {
  server.on_fault([](const std::string& what) { spdlog::error("{}", what); });
  server.on_call(
      [](const mcp::CallContext& context, const std::string& what, std::chrono::milliseconds took) {
        if (context.trace_parent().empty()) {
          spdlog::debug("{} {} ms", what, took.count());
        } else {
          spdlog::info("{} {} ms traceparent {}", what, took.count(), context.trace_parent());
        }
      });
}

}  // namespace tools::cli
