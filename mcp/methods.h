// The methods a client may call, in which era, and who answers them.
#pragma once

#include <string_view>

#include "mcp/call.h"
#include "mcp/server.h"

namespace mcp {

inline constexpr std::string_view kListen = "subscriptions/listen";

struct Method {
  std::string_view name;
  bool legacy;
  bool modern;
  bool quick;  // answered by the thread that received it; else by a worker, and can be cancelled
  bool (*offered)(const Server& server, const wire::Format& format);
  Server::Answer (*answer)(const Server& server, Call& call);
};

// Returns null for a method that is answered with kMethodNotFound. initialize, which changes the
// connection itself, is not among them; kListen, which stays open, has no function.
const Method* find_method(std::string_view name, const Server& server, const wire::Format& format);

}  // namespace mcp
