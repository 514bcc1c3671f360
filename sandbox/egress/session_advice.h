// How a refusal by the door goes on: for the code that was refused, and not for lists of requests.
#pragma once

#include <string>
#include <string_view>

namespace sandbox::egress {

// A reason that begins with kNotAllowed has this behind it, and then the commands that would allow
// what was asked for.
inline constexpr std::string_view kAdvice = ". Whoever runs hutch can allow it: ";
// The advice ends with this: it names no command of hutch's that serves, since any may.
inline constexpr std::string_view kAdviceEnd = "or allow in [network] of the configuration";

// Returns a reason's advice. `flag_note` is what there is to say of the flag.
inline std::string advice_on(std::string_view session_id, const std::string& host,
                             std::string_view flag_note = "") {
  std::string advice(kAdvice);
  advice.append("hutch sessions allow ").append(session_id).append(" " + host + " (at once), ");
  advice.append("--allow " + host + " when it starts").append(flag_note).append(", ");
  return advice.append(kAdviceEnd);
}

// Returns the reason without advice, which may be all of it.
inline std::string_view without_advice(std::string_view reason) {
  return reason.substr(0, reason.find(kAdvice));
}

}  // namespace sandbox::egress
