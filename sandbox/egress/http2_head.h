// Heads of HTTP/2 (RFC 9113 8.3) as those of HTTP/1.1, in which the policy and the credentials read
// and write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include "sandbox/egress/http2_side.h"

namespace sandbox::egress {

// Returns nothing when it does not say what a request has to, or says twice whom it is for.
std::optional<boost::beast::http::request_header<>> request_in(const Http2Fields& fields);
Http2Fields fields_of(const boost::beast::http::request_header<>& head);

// Returns their size before they are compressed.
std::int64_t size_of(const Http2Fields& fields);

// Returns 0 when there is none.
unsigned status_in(const Http2Fields& fields);
boost::beast::http::response_header<> answer_in(const Http2Fields& fields);
Http2Fields fields_of(const boost::beast::http::response_header<>& head);

// Returns an answer of the door's own, as the client's kind reads it: gRPC has statuses of its own,
// in an answer without a body. `body`: what belongs to it, if anything.
Http2Fields own_answer(bool is_grpc, unsigned status, std::string_view reason, std::string& body);

bool is_grpc(const boost::beast::http::request_header<>& head);

}  // namespace sandbox::egress
