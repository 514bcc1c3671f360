// Servers and boxes talk to the zygote over a SOCK_SEQPACKET socket in the runtime directory: one
// message for each connection. There is no answer: a box hears from the init that it asked for on
// the socket that came with the message, a server only stays connected.
#pragma once

#include <cstdint>
#include <cstring>

#include "sandbox/wire/build_id.h"

namespace sandbox::wire {

inline constexpr char kZygoteSocket[] = "zygote.sock";

enum class ZygoteMessage : std::uint32_t {
  kAttach = 1,  // a server, for as long as it is connected
  kBox = 2,     // carries two descriptors: the plan, and init's end of the socket to hutch-box
};

// A ZygoteRequest is served when it is of the same build.
struct ZygoteRequest {
  char build[64] = {};
  ZygoteMessage type{};

  ZygoteRequest() = default;
  explicit ZygoteRequest(ZygoteMessage wanted) : type(wanted) {
    std::memcpy(build, kBuildId, sizeof build);
  }
  [[nodiscard]] bool of_this_build() const {
    return std::memcmp(build, kBuildId, sizeof build) == 0;
  }
};

}  // namespace sandbox::wire
