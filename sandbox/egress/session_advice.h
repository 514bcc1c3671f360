// How a refusal by the door goes on: for the code that was refused, and not for lists of requests.
#pragma once

#include <string_view>

namespace sandbox::egress {

// A reason that begins with kNotAllowed has this behind it, and then the commands that would allow
// what was asked for.
inline constexpr std::string_view kAdvice = ". Whoever runs hutch can allow it: ";

// Returns the reason without advice, which may be all of it.
inline std::string_view without_advice(std::string_view reason) {
  return reason.substr(0, reason.find(kAdvice));
}

}  // namespace sandbox::egress
