// HTTP/2 with a client that speaks nothing else within TLS, as gRPC's do, and with its host:
// request by request as in http_relay.h, several at once.
#pragma once

#include <memory>

#include "sandbox/egress/asio.h"

namespace sandbox::egress {

class Connection;
class Session;

// Serves the connection until its end; its host is known, and TLS with the client stands.
Task<void> relay_http2(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection);

}  // namespace sandbox::egress
