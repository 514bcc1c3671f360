#include "tools/rest/json_answer.h"

#include <nlohmann/json.hpp>

#include "sandbox/wire/json.h"

namespace tools::rest {

using base::Error;

mcp::http::Response json_answer(int status, const nlohmann::json& value) {
  mcp::http::Response response;
  response.status = status;
  response.content_type = "application/json";
  response.body = sandbox::wire::print_json(value);
  return response;
}

mcp::http::Response empty_answer() {
  mcp::http::Response response;
  response.status = 204;
  return response;
}

int status_of(const Error& error) {
  switch (error.kind) {
    case Error::Kind::kInvalid:
      return 400;
    case Error::Kind::kNotFound:
      return 404;
    case Error::Kind::kLimit:
      return 429;
    case Error::Kind::kConflict:
      return 409;
    case Error::Kind::kUnsupported:
      return 501;
    case Error::Kind::kUnavailable:
      return 503;
    case Error::Kind::kInternal:
      return 500;
  }
  return 500;
}

}  // namespace tools::rest
