#include "tools/api/json_answer.h"

#include <cerrno>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/full_disk.h"
#include "base/json.h"
#include "sandbox/host_capacity.h"

namespace tools::api {

using base::Error;

mcp::http::Response json_answer(int status, const nlohmann::json& value) {
  mcp::http::Response response;
  response.status = status;
  response.content_type = "application/json";
  response.body = base::print_json(value);
  return response;
}

mcp::http::Response empty_answer() {
  mcp::http::Response response;
  response.status = 204;
  return response;
}

int status_of(const Error& error) {
  // Trying again would not help, as 429 says it does.
  if (base::is_full_disk(error)) return 507;
  if (error.os_errno == EKEYREJECTED || error.os_errno == EKEYEXPIRED) return 401;
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
    case Error::Kind::kCapacity:
      return 503;
    case Error::Kind::kInternal:
      return 500;
  }
  return 500;
}

mcp::http::Response with_retry_after(const Error& error, mcp::http::Response refusal) {
  if (error.kind == Error::Kind::kCapacity) {
    refusal.headers.emplace_back("Retry-After",
                                 std::to_string(sandbox::kCapacityRetryAfter.count()));
  }
  return refusal;
}

}  // namespace tools::api
