// Certificates of sessions with a network: whom their programs trust, and the authority in whose
// name hutch-egress answers where it looks into TLS.
#pragma once

#include <string>

#include "base/result.h"

namespace sessions {

struct Certificates {
  std::string roots;      // a file: what the host trusts, and the door therefore
  std::string bundle;     // a file: what the session's programs trust
  std::string authority;  // a file: key and certificate; empty where nothing is looked into
};

// Returns where the host keeps what it trusts: $SSL_CERT_FILE, else where its distribution has it;
// empty where there is none. x509(7), SSL_CTX_set_default_verify_paths(3)
std::string host_roots();

// Returns `roots`, or a file in `directory` that has both where `further` (PEM) has what is not in
// it.
base::Result<std::string> roots_with(const std::string& directory, const std::string& roots,
                                     const std::string& further);

// `directory` holds the authority, which is made there when it is first needed: its key is 0600,
// and good for nobody who has no session of this state directory. kUnsupported: the host has no
// roots, so that nothing could be verified.
base::Result<Certificates> certificates_for(const std::string& directory, const std::string& roots,
                                            bool looks_inside);

}  // namespace sessions
