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

int connect_to_loopback(std::uint16_t port) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = connect_to(AF_INET, reinterpret_cast<const sockaddr*>(&four), sizeof four);
  if (fd >= 0 || errno != ECONNREFUSED) return fd;
  // Some listen on "localhost", and mean only what that is in the newer family.
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  const int other = connect_to(AF_INET6, reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (other < 0) errno = ECONNREFUSED;
  return other;
}

}  // namespace sandbox::init
