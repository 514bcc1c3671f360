// Answers to the queries of a box: the messages of RFC 1035, read by libresolv's ns_initparse(3).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox::egress {

struct Lookup {
  enum class Verdict { kAllowed, kRefused, kTooMany } verdict = Verdict::kRefused;
  std::uint32_t address = 0;  // the allowed host's, in host byte order
};

// Returns the reply to `query`; nothing for what is no query, which is not answered. `look_up` is
// asked once at most, with the name as it was written. Only names have records here, and only
// addresses of version 4: others are empty, so that nothing is asked of the world.
std::optional<std::string> answer_query(std::string_view query,
                                        const std::function<Lookup(const std::string&)>& look_up);

}  // namespace sandbox::egress
