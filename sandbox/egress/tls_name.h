// Whom a TLS client wants to talk to, from its first message, which goes on as it came.
#pragma once

#include <string>

#include "sandbox/egress/asio.h"
#include "sandbox/egress/connection.h"

namespace sandbox::egress {

struct TlsName {
  std::string host;    // as canonical_host() gives it; empty: see reason
  std::string reason;  // why it cannot be let through, in words for the session
};

// Returns, in words for the session, why a connection that does not ask for its own host goes no
// further.
std::string why_not(const TlsName& asked);

// `first` is what has been read from the client; what is read here is added to it. The connection's
// deadline closes it under a client that sends nothing.
Task<TlsName> read_tls_name(Connection& connection, std::string& first);

}  // namespace sandbox::egress
