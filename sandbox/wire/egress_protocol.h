// A box and the door to the network (hutch-egress) talk to each other over one SOCK_SEQPACKET
// connection per box to egress.sock in the door's directory, of which each build has one. A message
// is one packet of JSON, some with one descriptor. The session has its network for as long as the
// connection lives.
//
// Box to door:
//   {"op":"open","session_id":"..","rules":["host:port"..],
//      "quota":{"requests_per_second":n,"connections":n,"bytes_left":n,
//               "principal_..":..},                                network_quota.h
//      "private_hosts":["host:port"..],                            which may have private addresses
//      "denied_addresses":["10.0.0.0/8"..],                        that no host is reached at
//      "proxy":{"host":"..","port":n,"authorization":"..","direct":["host"..]}|null,
//      "addresses":{"host":"address"}, "kept_hosts":["host"..],    whose answers all sessions share
//      "credentials":[{"name","host","place","allow_plain"}..]}             first, and once
//   {"op":"credential","name":".."}  with a pipe that {"value":".."} or {"error":".."} is read from
//      until its end; without one there is no such value
//   {"op":"roots"}, {"op":"authority"}  before listeners, with a file of PEM: certificates that the
//      door trusts; and, where it is to look into TLS, key and certificate of our authority
//   {"op":"listener","kind":"dns_udp"|"dns_tcp"|"proxy"|"direct","port":n}  with the socket
//   {"op":"rules","rules":[..],"addresses":{..},"credentials":[..],..}  from now on, as in open
//   {"op":"close"}  the session ends: nothing of it goes on, and the rest is told
// Door to box, before what it tells of can be seen in the box. What has begun has an id, and its
// bytes are all of it until now. "used" are bytes of the whole session that the box has not been
// told of, at the latest a second after they were carried, or 4 MiB.
//   {"event":"opened","id":n,"host":"..","port":n,"looked_into":true|false}     a connection; no id
//      where it is looked into: its requests are told of
//   {"event":"closed","id":n,"sent":n,"received":n,"ms":n,"used":n}
//   {"event":"begun","id":n,"host":"..","port":n,"method":"..","path":"..",     a request
//      "credential":"its name"}
//   {"event":"request","id":n,"status":n,"sent":n,"received":n,"ms":n,"used":n, is over; whether
//      "kept":true|false}                                      the answer was one that is kept
//   {"event":"carried","id":n,"sent":n,"received":n,"ms":n,"used":n}            it goes on
//   {"event":"used","used":n}
//   {"event":"refused","host":"..","port":n,"method":"..","path":"..","reason":"..",
//      "missing_rule":"host:port","host_is_allowed":true|false}   the rule that would allow it, if
//      one would, and whether it is the request alone that it was refused for
//   {"event":"refused","more":n}              so many that came faster than they can be told of
//   {"event":"wanted","credential":".."}      the value of
//   {"event":"ended"}                         after "close": there is nothing more to tell
#pragma once

#include <cstddef>
#include <cstdint>

namespace sandbox::wire {

inline constexpr const char* kEgressSocket = "egress.sock";
inline constexpr const char* kEgressLock = "lock";
inline constexpr std::size_t kEgressPacketBytesMax = 128 * 1024;  // to the door
inline constexpr std::size_t kEgressEventBytesMax = 16 * 1024;    // from it

// Descriptors that hutch-egress is started with, after standard error.
inline constexpr int kEgressListenFd = 3;
inline constexpr int kEgressLockFd = 4;
inline constexpr int kEgressDownloadsFd = 5;  // a directory, where answers are kept

// These are its options, behind its directory.
inline constexpr const char* kEgressUid = "--uid=";
inline constexpr const char* kEgressDownloadsMb = "--downloads-mb=";  // 0: none are kept

// Names are given addresses of 198.18.0.0/15 (RFC 2544), which no host of the Internet has.
inline constexpr std::uint32_t kEgressNetwork = 0xC6120000;
inline constexpr int kEgressPrefixBits = 15;
inline constexpr std::uint16_t kEgressProxyPort = 3128;
inline constexpr std::uint16_t kDnsPort = 53;

}  // namespace sandbox::wire
