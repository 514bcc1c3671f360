// Who a request acts for.
#pragma once

#include <string>
#include <vector>

namespace mcp {

struct Principal {
  std::string id;                   // the same for every request of the same caller; never shown
  std::vector<std::string> scopes;  // empty: everything
};

}  // namespace mcp
