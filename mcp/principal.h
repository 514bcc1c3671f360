// A Principal is whom a request acts for.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace mcp {

struct Principal {
  std::string id;                   // stays for all requests of one caller; never shown
  std::vector<std::string> scopes;  // empty: everything
};

// Returns whether whatever one of them may do the other may do, too.
inline bool are_equal(const Principal& one, const Principal& other) {
  return one.id == other.id && std::is_permutation(one.scopes.begin(), one.scopes.end(),
                                                   other.scopes.begin(), other.scopes.end());
}

}  // namespace mcp
