// Ids of sessions as parts of host names have "-" for "_": what matches certificates and host names
// knows no underscore. RFC 952, RFC 1123 section 2.1.
#pragma once

#include <string>
#include <string_view>

namespace sessions {

// Returns "session-k2" for "session_k2".
std::string host_id(std::string session_id);

// Returns the id of which `text` is the host_id(), or which it is itself; any other text stays as
// it is.
std::string session_id_of(std::string_view text);

}  // namespace sessions
