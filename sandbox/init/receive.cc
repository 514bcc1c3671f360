#include "sandbox/init/receive.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace sandbox::init {
namespace {

void take_descriptors(msghdr& header, Message& message) {
  for (cmsghdr* entry = CMSG_FIRSTHDR(&header); entry != nullptr;
       entry = CMSG_NXTHDR(&header, entry)) {
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (entry->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(entry) + i * sizeof fd, sizeof fd);
      if (message.fd_count < Message::kDescriptorsMax) {
        message.fds[message.fd_count++] = fd;
      } else {
        (void)::close(fd);
      }
    }
  }
}

}  // namespace

Message receive_message(int socket, void* data, std::size_t size_max, int flags) {
  Message message{};
  iovec part{data, size_max};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * Message::kDescriptorsMax)];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  message.size = ::recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
  if (message.size < 0) return message;
  message.whole = (header.msg_flags & MSG_TRUNC) == 0;
  take_descriptors(header, message);
  return message;
}

}  // namespace sandbox::init
