// Says whether there is room for one more copy of a shared file: the disk is everybody's, and one
// principal has a part in it. Pure.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sessions/share.h"

namespace share {

inline constexpr std::int64_t kSharesMax = 10'000;  // for each principal
inline constexpr std::int64_t kPartOfDisk = 10;

// Fails with kLimit where the principal has shared as many files as it may, or where `bytes` more
// would take more than a tenth of the file system, which has `disk_bytes`. The message says what
// makes room.
base::Status check_share_room(const sessions::Shared& shared, std::int64_t bytes,
                              std::int64_t disk_bytes);

}  // namespace share
