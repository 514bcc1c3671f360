// The box's own network namespace has a loopback interface, and it starts down. netdevice(7).
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"

namespace sandbox::init {

void bring_up_loopback() {
  const int fd = must(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket for loopback");
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  must(::ioctl(fd, SIOCGIFFLAGS, &request), "read loopback flags");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP | IFF_RUNNING);
  must(::ioctl(fd, SIOCSIFFLAGS, &request), "bring up loopback");
  must(::close(fd), "close");
}

}  // namespace sandbox::init
