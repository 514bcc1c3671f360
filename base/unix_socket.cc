#include "base/unix_socket.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace base {
namespace {

constexpr std::size_t kDescriptorsMax = 10;

Result<sockaddr_un> address_of(int directory_fd, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(directory_fd) + "/" + name;
  if (path.size() >= sizeof address.sun_path) {
    return error(Error::Kind::kInvalid, "socket name too long: " + name);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<UniqueFd> make_socket(int type) {
  UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return Error::from_errno("socket");
  return fd;
}

}  // namespace

Result<UniqueFd> listen_at(int directory_fd, const std::string& name, int type) {
  const sockaddr_un address = TRY(address_of(directory_fd, name));
  UniqueFd fd = TRY(make_socket(type));
  if (::unlinkat(directory_fd, name.c_str(), 0) != 0 && errno != ENOENT) {
    return Error::from_errno("unlink stale socket " + name);
  }
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error::from_errno("bind " + name);
  }
  if (type == SOCK_DGRAM) return fd;
  if (::listen(fd.get(), 128) != 0) return Error::from_errno("listen");
  return fd;
}

Result<UniqueFd> connect_to(int directory_fd, const std::string& name,
                            std::chrono::milliseconds patience, int type) {
  const sockaddr_un address = TRY(address_of(directory_fd, name));
  UniqueFd fd = TRY(make_socket(type));
  // A listener that accepts nothing would hold us up for ever once its queue is full: unix(7) takes
  // the timeout of a send for that of a connect.
  const timeval timeout{patience.count() / 1000, patience.count() % 1000 * 1000};
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) != 0) {
    return Error::from_errno("setsockopt SO_SNDTIMEO");
  }
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EINTR) continue;
    const bool nobody = errno == ENOENT || errno == ECONNREFUSED;
    return Error::from_errno("connect to " + name,
                             nobody ? Error::Kind::kNotFound : Error::Kind::kUnavailable);
  }
  return fd;
}

Status send_packet(int socket_fd, std::string_view bytes, const int* fds, std::size_t fd_count) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kDescriptorsMax)] = {};
  if (fd_count > kDescriptorsMax) return error(Error::Kind::kInvalid, "too many descriptors");
  if (fd_count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
    cmsghdr* entry = CMSG_FIRSTHDR(&message);
    entry->cmsg_level = SOL_SOCKET;
    entry->cmsg_type = SCM_RIGHTS;
    entry->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
    std::memcpy(CMSG_DATA(entry), fds, sizeof(int) * fd_count);
  }
  while (::sendmsg(socket_fd, &message, MSG_NOSIGNAL) < 0) {
    if (errno == ETOOMANYREFS) {
      return Error{Error::Kind::kUnavailable, ETOOMANYREFS,
                   "this user's programs have more descriptors on their way through Unix sockets "
                   "than one of them may have open (unix(7), ETOOMANYREFS)"};
    }
    if (errno != EINTR) return Error::from_errno("sendmsg", Error::Kind::kUnavailable);
  }
  return done();
}

Result<Packet> receive_packet(int socket_fd, std::size_t bytes_max) {
  Packet packet;
  packet.bytes.resize(bytes_max);
  iovec part{packet.bytes.data(), bytes_max};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kDescriptorsMax)];
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = 0;
  while ((size = ::recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC)) < 0) {
    if (errno != EINTR) return Error::from_errno("recvmsg", Error::Kind::kUnavailable);
  }
  packet.bytes.resize(static_cast<std::size_t>(size));
  for (cmsghdr* entry = CMSG_FIRSTHDR(&message); entry != nullptr;
       entry = CMSG_NXTHDR(&message, entry)) {
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (entry->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(entry) + i * sizeof fd, sizeof fd);
      // Each is owned at once; all but the first are closed here.
      UniqueFd owned(fd);
      if (!packet.fd.valid()) packet.fd = std::move(owned);
    }
  }
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    return error(Error::Kind::kLimit, "packet larger than " + std::to_string(bytes_max) + " bytes");
  }
  return packet;
}

Status send_descriptor(int socket_fd, int fd) { return send_packet(socket_fd, "d", &fd, 1); }

Result<UniqueFd> receive_descriptor(int socket_fd) {
  Packet packet = TRY(receive_packet(socket_fd, 1));
  if (!packet.fd.valid()) return error(Error::Kind::kUnavailable, "no descriptor came");
  return std::move(packet.fd);
}

}  // namespace base
