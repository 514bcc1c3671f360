// hutch-box and the init of its box talk to each other over one SOCK_SEQPACKET pair: one message is
// one packet, a fixed head and, for a spawn, NUL-ended strings. Both ends come from the same build,
// so the layout is that of the machine.
//
// Box to init: kMount, kSpawn and kCopy (with descriptors), kConnect, kSignal, kSignalAll,
// kBarrier. Init to box: kClone (with the pidfd of init), kRoot (with the box's root directory),
// kNetwork (with its network namespace), kListener, kReady, kSpawned, kConnected, kExited,
// kStopped, kFailed, kPassed. `hutch-init --network` says kListener, kReady and kFailed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sandbox::wire {

inline constexpr std::uint32_t kInitMagic = 0x68746336;  // "htc6": change it with the layout
inline constexpr std::size_t kInitMessageBytesMax = 160 * 1024;
inline constexpr int kSpawnStringsMax = 1024;
inline constexpr int kSpawnDescriptorsMax = 10;  // streams, channel or code, what keeps state

enum class InitMessage : std::uint16_t {
  kSpawn = 1,       // value: unused; strings: cwd, argv..., then environment...
  kSignal = 2,      // pid, value: signal number; target says process or its whole session group
  kSignalAll = 3,   // value: signal number, to every process of the box but init
  kBarrier = 4,     // sequence: wants kPassed when all that came before has been done
  kCopy = 5,        // as kSpawn, but the process is a copy of init, which is one of a warmed
                    // interpreter; ENOSYS when it is not
  kConnect = 7,     // sequence, value: a TCP port of the box's own loopback;
                    // pid: AF_INET or AF_INET6
  kMount = 6,       // before the plan is carried out; carries one descriptor, a detached mount
  kClone = 16,      // value: unused; carries one descriptor, the pidfd of init
  kReady = 17,      // the box is whole; value: the ABI of Landlock that holds, 0 without
  kSpawned = 18,    // sequence, pid; value: errno when it failed
  kExited = 19,     // pid, value: wait status, of what was spawned
  kFailed = 20,     // value: errno; text: the step that failed
  kPassed = 21,     // sequence of the barrier
  kStopped = 22,    // pid: what was spawned has been stopped by a signal
  kRoot = 23,       // before kReady; carries one descriptor, the root directory of the box (O_PATH)
  kConnected = 25,  // sequence; carries a socket that is connected or is about to be; value: errno
                    // when it could not be
  kListener = 24,   // before kReady, in the order of the plan; carries one descriptor, a socket
  kNetwork = 26,    // before kReady; carries one descriptor, the network namespace of the box
};

enum class SignalTarget : std::uint16_t { kProcess = 0, kGroup = 1 };

struct InitHead {
  std::uint32_t magic = kInitMagic;
  InitMessage type{};
  SignalTarget target = SignalTarget::kProcess;
  std::uint32_t sequence = 0;
  std::int32_t pid = 0;
  std::int32_t value = 0;
  std::uint16_t argument_count = 0;     // kSpawn: strings of argv
  std::uint16_t environment_count = 0;  // kSpawn: strings of the environment
};

}  // namespace sandbox::wire
