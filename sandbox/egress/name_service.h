// The name service of a session's box, by packets and by connections. The session says what is
// answered.
#pragma once

#include <memory>

#include <boost/asio/ip/udp.hpp>

#include "sandbox/egress/asio.h"
#include "sandbox/egress/connection.h"
#include "sandbox/egress/session.h"

namespace sandbox::egress {

// Answers the packets of this socket until the session is closed.
Task<void> serve_name_packets(std::shared_ptr<Session> session,
                              std::shared_ptr<asio::ip::udp::socket> socket);
// Answers the queries of one connection, and closes it.
Task<void> serve_names(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection);

}  // namespace sandbox::egress
