#include "sandbox/wire/box_protocol.h"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace sandbox::wire {
namespace {

using Kind = base::Error::Kind;

constexpr std::array kKinds{std::pair{Kind::kInvalid, "invalid"},
                            std::pair{Kind::kNotFound, "not_found"},
                            std::pair{Kind::kLimit, "limit"},
                            std::pair{Kind::kConflict, "conflict"},
                            std::pair{Kind::kUnsupported, "unsupported"},
                            std::pair{Kind::kUnavailable, "unavailable"},
                            std::pair{Kind::kCapacity, "capacity"},
                            std::pair{Kind::kInternal, "internal"}};

}  // namespace

nlohmann::json error_reply(const base::Error& failure) {
  const char* kind = "internal";
  for (const auto& [value, name] : kKinds) {
    if (value == failure.kind) kind = name;
  }
  return {
      {"ok", false}, {"kind", kind}, {"message", failure.message}, {"os_errno", failure.os_errno}};
}

base::Status check_reply(const nlohmann::json& reply) {
  if (base::boolean_or(reply, "ok", false)) return base::done();
  const std::string kind = base::string_or(reply, "kind", "internal");
  base::Error failure =
      base::error(Kind::kInternal, base::string_or(reply, "message", "no message"));
  failure.os_errno = static_cast<int>(base::integer_or(reply, "os_errno", 0));
  for (const auto& [value, name] : kKinds) {
    if (kind == name) failure.kind = value;
  }
  return failure;
}

}  // namespace sandbox::wire
