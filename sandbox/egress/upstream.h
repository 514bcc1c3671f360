// Connections to hosts of the network: what is connected to is an address that was looked at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/asio/ip/address.hpp>

#include "sandbox/address_range.h"
#include "sandbox/egress/asio.h"
#include "sandbox/egress/connection.h"
#include "sandbox/egress/lookups.h"

namespace sandbox::egress {

// Bounds say which addresses a host may have.
struct Bounds {
  bool may_be_private = false;
  const std::vector<AddressRange>& denied;  // none of these, pinned or not
};

// Connects `connection.upstream` to its host and port, which are allowed already. `pinned`: the
// address that the operator gives the host, whatever it is. Each address has a few seconds; the
// connection's deadline, which closes both its sockets, ends it all. The result: why not, in words
// for the session; empty when it is connected.
Task<std::string> connect_upstream(Connection& connection, Lookups& lookups,
                                   std::optional<asio::ip::address> pinned, Bounds bounds);

// Connects `connection.upstream` to the first of `addresses` that answers at `port`, whoever it
// belongs to. Deadlines and result are those of connect_upstream().
Task<std::string> connect_to_one(Connection& connection, Lookups::Addresses addresses,
                                 std::uint16_t port);

}  // namespace sandbox::egress
