// Plain HTTP, request by request: each is for a host that is allowed, and goes on in a framing of
// our own (RFC 9112), so that what follows it is what we took for the next one.
#pragma once

#include <memory>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "sandbox/egress/asio.h"

namespace sandbox::egress {

class Connection;
class Session;

using HeadParser = boost::beast::http::request_parser<boost::beast::http::empty_body>;

inline constexpr std::uint32_t kHeadBytesMax = 16 * 1024;
// At most this many bytes have been read and not been looked at; extensions and trailers of chunks
// have to fit in whole.
inline constexpr std::size_t kBufferBytesMax = 32 * 1024;

// Reads one head; false when there is none to come, or what is there is none: then the client has
// been told.
Task<bool> read_head(Connection& connection, boost::beast::flat_buffer& buffer, HeadParser& parser);

// Sends an answer of the door's own, after which the connection ends. The reason stands in the
// status line too, which is what many clients show.
Task<void> answer_http(Connection& connection, unsigned status, std::string reason);

// Serves the connection until its end. `first`: a request whose head has been read already, or
// null; then hosts are as each request names them, as a proxy is asked, else all are for the
// connection's host.
Task<void> relay_http(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection,
                      boost::beast::flat_buffer buffer, std::unique_ptr<HeadParser> first);

}  // namespace sandbox::egress
