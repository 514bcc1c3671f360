// Names of files for clients: sandbox://{session_id}/{+path}, and sandbox://shared/{id}/{filename}
// for what was shared. RFC 3986.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tools {

inline constexpr const char* kFileTemplate = "sandbox://{session_id}/{+path}";
inline constexpr const char* kSharedAuthority = "shared";

struct SandboxUri {
  std::string authority;  // a session, or "shared"
  std::string path;       // absolute; decoded
};

// `path` is absolute.
std::string sandbox_uri(std::string_view authority, std::string_view path);

// Returns the id in the path of what was shared.
std::string shared_id_of(const std::string& path);

// Returns nothing for another scheme, a query or fragment, a wrong escape, NUL, or no path.
std::optional<SandboxUri> parse_sandbox_uri(std::string_view uri);

}  // namespace tools
