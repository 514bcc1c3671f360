// A credential in a request, in place of whatever the code has put there.
#pragma once

#include <string>
#include <vector>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include "sandbox/credential.h"
#include "sandbox/egress/redactor.h"

namespace sandbox::egress {

// Returns the forms that its secret has now, which no answer may bring back.
std::vector<std::string> add_credential(const Credential& credential, const std::string& value,
                                        boost::beast::http::request_header<>& head);

// A client is told this in place of an answer that is_unreadable().
inline constexpr char kUnreadableAnswer[] =
    "the host has compressed its answer, or gives a part of it: nobody could say what is in it";

// Returns whether an answer is compressed or cut, whatever the host was asked for: nothing can be
// found in it.
bool is_unreadable(const boost::beast::http::response_header<>& head);

// Takes out of an answer's head what `redactor` knows.
void redact_head(const Redactor& redactor, boost::beast::http::response_header<>& head);

}  // namespace sandbox::egress
