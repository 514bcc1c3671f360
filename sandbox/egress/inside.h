// Connections of which each request is looked at: plain HTTP, or HTTP within TLS that ends here and
// begins anew to the host.
#pragma once

#include <memory>
#include <string>

#include "sandbox/egress/asio.h"

namespace sandbox::egress {

class Connection;
class Session;

// The connection has its host and port, which are allowed. `first`: what has been read of the
// client already.
Task<void> serve_inside(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection,
                        std::string first);

}  // namespace sandbox::egress
