// Receives one message of a Unix socket with the descriptors that come with it (unix(7),
// SCM_RIGHTS). Without heap and without locks.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace sandbox::init {

struct Message {
  static constexpr int kDescriptorsMax = 10;  // more are closed

  ssize_t size;              // bytes; 0 at the end of the connection, negative with errno
  bool whole;                // else it was longer than there was room for
  int fds[kDescriptorsMax];  // close-on-exec, the caller's from here on
  int fd_count;
};

// `flags` are as for recvmsg(2).
Message receive_message(int socket, void* data, std::size_t size_max, int flags);

}  // namespace sandbox::init
