// Connections that programs make as if there were no door: to an address that a name was given.
#pragma once

#include <memory>

#include "sandbox/egress/asio.h"

namespace sandbox::egress {

class Connection;
class Session;

Task<void> serve_direct(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection);

}  // namespace sandbox::egress
