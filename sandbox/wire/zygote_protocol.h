// What servers and boxes say to the zygote, over a SOCK_SEQPACKET socket in the runtime directory:
// one message for each connection. There is no answer: a box hears from the init that it asked for
// on the socket that came with the message, a server only stays connected.
#pragma once

#include <cstdint>

namespace sandbox::wire {

inline constexpr char kZygoteSocket[] = "zygote.sock";
inline constexpr std::uint32_t kZygoteMagic = 0x68747a31;  // "htz1": change it with the layout

enum class ZygoteMessage : std::uint32_t {
  kAttach = 1,  // a server, for as long as it is connected
  kBox = 2,     // carries two descriptors: the plan, and init's end of the socket to hutch-box
};

struct ZygoteRequest {
  std::uint32_t magic = kZygoteMagic;
  ZygoteMessage type{};
};

}  // namespace sandbox::wire
