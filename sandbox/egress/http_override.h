// By these fields a request asks for another method or path than its line says. Some hosts obey
// them, and the rules that let the request out knew nothing of it.
#pragma once

#include <string>
#include <string_view>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include "sandbox/egress/http2_side.h"

namespace sandbox::egress {

// Letters become small, and "_" becomes "-": a host may take both for the same (RFC 3875 4.1.18).
std::string folded_name(std::string_view name);

void drop_overrides(boost::beast::http::request_header<>& head);
void drop_overrides(Http2Fields& trailers);

}  // namespace sandbox::egress
