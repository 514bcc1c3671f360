#include "sessions/host_id.h"

#include <algorithm>

#include "base/random_id.h"

namespace sessions {

std::string host_id(std::string session_id) {
  std::ranges::replace(session_id, '_', '-');
  return session_id;
}

std::string session_id_of(std::string_view text) {
  constexpr std::string_view kPrefix = "session-";
  if (!text.starts_with(kPrefix)) return std::string(text);
  std::string id = "session_" + std::string(text.substr(kPrefix.size()));
  return base::is_short_id(id, "session_") ? id : std::string(text);
}

}  // namespace sessions
