// Ids of sessions as parts of host names have "-" for "_": what matches certificates and host names
// knows no underscore. RFC 952, RFC 1123 section 2.1.
#pragma once

#include <string>
#include <string_view>

namespace sessions {

// "session-k2" of "session_k2".
std::string host_id(std::string session_id);

// The id of which `text` is the host_id(), or it itself; whatever else it is stays as it is.
std::string session_id_of(std::string_view text);

}  // namespace sessions
