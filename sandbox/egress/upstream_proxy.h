// Connections to hosts of the network by way of its proxy: CONNECT, RFC 9110 9.3.6.
#pragma once

#include <string>

#include "sandbox/egress/asio.h"
#include "sandbox/egress/connection.h"
#include "sandbox/egress/lookups.h"
#include "sandbox/network_proxy.h"

namespace sandbox::egress {

// Does what connect_upstream() does; the host's address is between the proxy and its name service.
Task<std::string> connect_by_proxy(Connection& connection, Lookups& lookups, NetworkProxy proxy);

}  // namespace sandbox::egress
