// Why something was not accepted. In words of ours: never with a part of what a client sent.
#pragma once

#include <string>

namespace mcp::auth {

struct Refusal {
  std::string why;
};

}  // namespace mcp::auth
