// Unix sockets by directory descriptor, and descriptors sent over them. unix(7).
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace base {

// Listens at `name` in the directory (a SOCK_DGRAM socket just is there); a stale socket file of
// that name is replaced. The path is reached through /proc/self/fd, so that the 108 bytes of
// sun_path always suffice.
Result<UniqueFd> listen_at(int directory_fd, const std::string& name, int type = SOCK_STREAM);

// Fails with kNotFound when nobody listens there. `patience` is for a listener whose queue is full.
Result<UniqueFd> connect_to(int directory_fd, const std::string& name,
                            std::chrono::milliseconds patience, int type = SOCK_STREAM);

// Sends one byte with a descriptor on it.
Status send_descriptor(int socket_fd, int fd);
Result<UniqueFd> receive_descriptor(int socket_fd);

// A Packet is one message of a SOCK_SEQPACKET socket.
struct Packet {
  std::string bytes;  // empty: the peer is gone
  UniqueFd fd;        // the first descriptor that came with it
};
Status send_packet(int socket_fd, std::string_view bytes, const int* fds, std::size_t fd_count);
Result<Packet> receive_packet(int socket_fd, std::size_t bytes_max);

}  // namespace base
