// Says of each operation, for the description of the APIs, what its route does not say: a line, and
// what may stand in the query.
#pragma once

#include <string_view>
#include <vector>

namespace tools::api {

struct QueryMember {
  const char* name;
  const char* meaning;
};

struct Summary {
  const char* method;
  const char* path;  // as in mcp::http::Route
  const char* line;
  std::vector<QueryMember> query = {};
};

// Returns null when nobody has said anything of it.
const Summary* find_summary(std::string_view method, std::string_view path);

}  // namespace tools::api
