// The proxy at 127.0.0.1:3128, for programs that are told of one: CONNECT, RFC 9110 9.3.6.
#pragma once

#include <memory>

#include "sandbox/egress/asio.h"

namespace sandbox::egress {

class Connection;
class Session;

Task<void> serve_proxy(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection);

}  // namespace sandbox::egress
