// hutch forward: a server in a session, at a port of this machine.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <iostream>

#include "sessions/boxes.h"
#include "sessions/host_id.h"
#include "sessions/session.h"
#include "sessions/sessions.h"
#include "tools/cli/commands.h"
#include "tools/cli/ending_signals.h"
#include "tools/cli/terminal.h"
#include "tools/ports/pump.h"

namespace tools::cli {

using base::Error;

namespace {

constexpr int kBacklog = 128;

// On loopback: whoever is on this machine reaches it, and nobody else.
base::Result<base::UniqueFd> listen_on(std::uint16_t port) {
  base::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return Error::from_errno("socket");
  const int yes = 1;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    auto failure = Error::from_errno("listen on 127.0.0.1:" + std::to_string(port));
    if (failure.os_errno == EADDRINUSE || failure.os_errno == EACCES) {
      failure.message += "; --listen PORT takes another, 0 any that is free";
    }
    return failure;
  }
  return socket;
}

base::Result<std::uint16_t> port_of(const base::UniqueFd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return Error::from_errno("getsockname");
  }
  return ntohs(address.sin_port);
}

void take_one(Application& app, const sessions::Session& session, std::uint16_t port,
              const base::UniqueFd& listener, ports::Pump& pump) {
  ports::Pair pair;
  pair.client =
      base::UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!pair.client.valid()) return;
  auto server = app.services().boxes.connect(session, port);
  if (!server.ok()) {
    tell(server.error().message);
    return;
  }
  pair.server = std::move(server).value();
  if (const auto added = pump.add(std::move(pair)); !added.ok()) {
    tell(added.error().message);
  }
}

}  // namespace

base::Result<int> run_forward(Application& app, const ForwardOptions& options) {
  const auto session = TRY(app.services().sessions.find(app.principal_id(), options.session));
  const auto port = static_cast<std::uint16_t>(options.port);
  const auto wanted = static_cast<std::uint16_t>(options.listen.value_or(options.port));
  const base::UniqueFd listener = TRY(listen_on(wanted));
  const base::UniqueFd signals = TRY(ending_signals());
  const auto pump = TRY(ports::Pump::start());
  // A name of its own, which `hutch serve` gives to nobody: what a browser keeps for it, and its
  // cookies, are no other server's of this machine.
  const std::string here = ":" + std::to_string(TRY(port_of(listener))) + "/";
  std::cout << "port " << port << " of " << options.session << " is at http://f" << port << "-"
            << sessions::host_id(session.id) << ".localhost" << here << " and http://127.0.0.1"
            << here << std::endl;
  while (true) {
    std::array<pollfd, 2> entries{pollfd{listener.get(), POLLIN, 0},
                                  pollfd{signals.get(), POLLIN, 0}};
    if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) {
      return Error::from_errno("poll");
    }
    if (entries[1].revents != 0) return 0;
    if (entries[0].revents != 0) take_one(app, session, port, listener, *pump);
  }
}

}  // namespace tools::cli
