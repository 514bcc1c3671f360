// To a server that the code runs: a socket of the box's network namespace, which somebody outside
// gets. Nothing is in between then. connect(2).
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/init/steps.h"

namespace sandbox::init {
namespace {

int connect_to(int family, const sockaddr* address, socklen_t size) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (::connect(fd, address, size) == 0 || errno == EINPROGRESS) return fd;
  const int failure = errno;
  (void)::close(fd);
  errno = failure;
  return -1;
}

}  // namespace

int connect_to_loopback(int family, std::uint16_t port) {
  if (family == AF_INET) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect_to(family, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = in6addr_loopback;
  return connect_to(AF_INET6, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace sandbox::init
