// Says which build a box is of: 64 hexadecimal digits, the SHA-256 of all sources of this layer,
// runners and profiles among them. A box outlives its server, and the next one may be of another
// build.
#pragma once

namespace sandbox::wire {

extern const char* const kBuildId;

}  // namespace sandbox::wire
