// Connections to hosts of the network. The name is looked up here and nowhere else, and what is
// connected to is an address that was looked at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/thread_pool.hpp>

#include "sandbox/egress/asio.h"

namespace sandbox::egress {

class Upstream {
 public:
  // How it ended: connected, or why not, in words for the session.
  struct Outcome {
    bool connected = false;
    bool refused = false;  // for what the name stands for, not for what the network did
    std::string reason;
  };

  explicit Upstream(asio::io_context& context);

  // `host` in its canonical form; allowed already. `pinned`: the address that the operator gives
  // it, whatever it is. Takes as long as the caller's deadline, which closes both its sockets.
  Task<Outcome> connect(const Socket& client, Socket& socket, std::string host, std::uint16_t port,
                        std::optional<asio::ip::address> pinned);

 private:
  using Addresses = std::vector<asio::ip::address>;

  Task<Addresses> look_up(std::string host);

  asio::thread_pool threads_;  // getaddrinfo(3) blocks
};

}  // namespace sandbox::egress
