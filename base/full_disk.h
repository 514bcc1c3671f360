// A disk without room is nobody's mistake, and no fault that trying again mends: who asks is to be
// told so in words of its own, whatever kind of Error it came as.
#pragma once

#include <cerrno>

#include "base/result.h"

namespace base {

// The system has said ENOSPC, or EDQUOT.
inline bool is_full_disk(const Error& failure) {
  return failure.os_errno == ENOSPC || failure.os_errno == EDQUOT;
}

}  // namespace base
