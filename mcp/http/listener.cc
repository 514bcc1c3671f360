#include "mcp/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace mcp::http {
namespace {

// Connections that wait to be accepted. The kernel may take fewer: net.core.somaxconn.
constexpr int kBacklog = 4096;
constexpr int kPortMax = 65535;
constexpr mode_t kSocketMode = 0600;

std::string why(const std::string& what) {
  return what + ": " + std::generic_category().message(errno);
}

// The address in the form of the system; its length is 0 when it is none.
struct SystemAddress {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_un local;
  };
  socklen_t length = 0;
};

SystemAddress to_system(const Address& address) {
  SystemAddress result;
  std::memset(&result.local, 0, sizeof result.local);
  if (address.is_unix()) {
    if (address.unix_path.size() >= sizeof result.local.sun_path) return result;
    result.local.sun_family = AF_UNIX;
    address.unix_path.copy(result.local.sun_path, sizeof result.local.sun_path - 1);
    result.length = sizeof result.local;
  } else if (::inet_pton(AF_INET, address.host.c_str(), &result.v4.sin_addr) == 1) {
    result.v4.sin_family = AF_INET;
    result.v4.sin_port = htons(static_cast<std::uint16_t>(address.port));
    result.length = sizeof result.v4;
  } else if (::inet_pton(AF_INET6, address.host.c_str(), &result.v6.sin6_addr) == 1) {
    result.v6.sin6_family = AF_INET6;
    result.v6.sin6_port = htons(static_cast<std::uint16_t>(address.port));
    result.length = sizeof result.v6;
  }
  return result;
}

// A socket file outlives a server that was killed.
void remove_dead_socket(const SystemAddress& system, const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  if (::connect(fd, &system.any, system.length) != 0 && errno == ECONNREFUSED) {
    (void)::unlink(path.c_str());
  }
  ::close(fd);
}

int real_port(int fd) {
  SystemAddress bound;
  bound.length = sizeof bound.local;
  if (::getsockname(fd, &bound.any, &bound.length) != 0) return 0;
  return ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
}

}  // namespace

bool Address::is_loopback() const {
  if (is_unix() || host == "::1") return true;
  in_addr v4{};
  return ::inet_pton(AF_INET, host.c_str(), &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
}

std::optional<Address> parse_address(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  Address address;
  if (text.starts_with(kUnix)) {
    address.unix_path = text.substr(kUnix.size());
    if (!address.unix_path.starts_with('/')) return std::nullopt;
  } else {
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos) return std::nullopt;
    const auto port = base::number_of<int>(text.substr(colon + 1));
    if (!port || *port < 0 || *port > kPortMax) return std::nullopt;
    address.port = *port;
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    address.host = host == "localhost" ? "127.0.0.1" : std::string(host);
  }
  if (to_system(address).length == 0) return std::nullopt;
  return address;
}

std::variant<Listener, std::string> Listener::open(Address address) {
  const SystemAddress system = to_system(address);
  if (system.length == 0) return "no address to listen on";
  const int fd = ::socket(system.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return why("make a socket");
  Listener listener(fd, std::move(address));
  const int on = 1;
  if (listener.address_.is_unix()) {
    remove_dead_socket(system, listener.address_.unix_path);
    // The file gets this mode when it is made: it is never open to others.
    (void)::fchmod(fd, kSocketMode);
  } else {
    (void)::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (system.any.sa_family == AF_INET6) {
      (void)::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
  }
  if (::bind(fd, &system.any, system.length) != 0) {
    const std::string reason = why("listen on " + listener.name());
    listener.address_.unix_path.clear();  // the file is not ours
    return reason;
  }
  if (::listen(fd, kBacklog) != 0) return why("listen on " + listener.name());
  if (!listener.address_.is_unix()) listener.address_.port = real_port(fd);
  return listener;
}

Listener::Listener(Listener&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), address_(std::move(other.address_)) {}

Listener::~Listener() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (address_.is_unix()) (void)::unlink(address_.unix_path.c_str());
}

std::string Listener::name() const {
  if (address_.is_unix()) return "unix:" + address_.unix_path;
  const bool v6 = address_.host.find(':') != std::string::npos;
  return (v6 ? "[" + address_.host + "]" : address_.host) + ":" + std::to_string(address_.port);
}

}  // namespace mcp::http
