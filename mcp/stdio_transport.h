// MCP over standard input and output: one JSON message a line.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "mcp/principal.h"
#include "mcp/server.h"

namespace mcp {

struct StdioOptions {
  int in_fd = 0;
  int out_fd = 1;    // may be in_fd, when that is a socket
  int stop_fd = -1;  // ends serve_stdio() when it becomes readable; -1: none
  std::string connection_id = "stdio";
  Principal principal = {};  // whose process this is
  // It is without the newline: a write_file of 16 MiB, every byte of it escaped as \n is. A longer
  // line is skipped as it comes and answered with kInvalidRequest.
  std::size_t line_bytes_max = 112U << 20;
  // The one who asks keeps nobody else waiting, so neither is there to be met: threads are started
  // as they are needed, and the bytes of open messages are bounded.
  std::size_t threads_max = 512;   // calls at once
  std::size_t queue_max = 10'000;  // calls that wait for a thread; more are refused
  std::size_t outbox_bytes_max = 64U << 20;
  // Calls in progress have this long to end and answer when the input has ended. A stop cuts it
  // short.
  std::chrono::milliseconds grace{1000};
};

// Serves one client until its input ends, it goes away, or `stop_fd` says so; then cancels the
// calls in progress (after the grace, where the input ended) and waits for them: a tool that
// ignores its cancellation keeps this from returning. The calling thread reads, and answers methods
// that need no worker itself (methods.cc); it never waits for a tool, and for a client that does
// not read only until it is stopped.
void serve_stdio(const Server& server, const StdioOptions& options);

}  // namespace mcp
