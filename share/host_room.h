// Checks the room for what this server itself puts on the disk of its state directory: runs of all
// sessions, and what hutch knows of them, are there too.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace share {

// Fails with kLimit, and says that there is no room for `what`, unless `bytes` more fit into the
// file system of `directory` and leave 256 MiB, or a sixteenth of a small one.
base::Status check_host_room(const std::string& directory, std::int64_t bytes,
                             const std::string& what);

}  // namespace share
