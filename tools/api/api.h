// An API of others in the words of hutch: rows that are routes, a body that is checked by a table
// as the arguments of a tool are, and one way to say that something failed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "mcp/http/route.h"
#include "tools/arguments.h"
#include "tools/tools.h"

namespace tools::api {

// A Refusal says, as its API does, that something failed. Of an Error that is ours it is told what
// clients may hear.
using Refusal = std::function<mcp::http::Response(int status, const std::string& message)>;

struct Operation {
  using Answer = std::function<base::Result<mcp::http::Response>(const mcp::http::Request& request,
                                                                 const Arguments& body)>;
  const char* method;
  const char* path;  // as in mcp::http::Route
  Answer answer;
  std::vector<Argument> body = {};  // members of the JSON object; others are not looked at
  bool changes = false;             // needs a token that may
  mcp::http::Route::Work work = mcp::http::Route::Work::kShort;
};

// Returns JSON in which halves of characters may be (mcp/half_characters.h), as over MCP.
base::Result<nlohmann::json> parse_body(std::string_view body);

// Fails with kInvalid for what is no JSON object, or not as the table says.
base::Result<Arguments> body_of(const std::vector<Argument>& table,
                                const mcp::http::Request& request);

// Makes answers of functions that are given the services first.
class With {
 public:
  explicit With(const Services& services) : services_(services) {}
  Operation::Answer operator()(base::Result<mcp::http::Response> (*function)(
      const Services& services, const mcp::http::Request& request)) const;
  Operation::Answer operator()(base::Result<mcp::http::Response> (*function)(
      const Services& services, const mcp::http::Request& request, const Arguments& body)) const;

 private:
  const Services& services_;
};

mcp::http::Route route_of(Operation operation, const Refusal& refusal);
std::vector<mcp::http::Route> routes_of(std::vector<Operation> operations, const Refusal& refusal);

// Returns the number of that name in the query, if there is one. Fails with kInvalid for what is no
// whole number.
base::Result<std::optional<std::int64_t>> number_in_query(const mcp::http::Request& request,
                                                          const char* name);

// Returns a refusal such as {"code": 404, "message": "no such session"}.
mcp::http::Response refused_with_code(int status, const std::string& message);

}  // namespace tools::api
