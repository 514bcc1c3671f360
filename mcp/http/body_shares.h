// BodyShares counts what bodies take while they come, each for the principal it belongs to: one who
// takes more than its part gives way to others, and keeps nobody out.
#pragma once

#include "mcp/http/bounds.h"
#include "mcp/http/budget.h"

namespace mcp::http {

struct BodyShares {
  explicit BodyShares(const Bounds& bounds)
      : bytes(bounds.bodies_bytes), readers(bounds.body_readers), slow(bounds.slow_bodies) {}

  Budget bytes;
  Budget readers;
  Budget slow;
};

}  // namespace mcp::http
