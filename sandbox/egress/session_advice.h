// Advice on refusals by the rules of a session's network, to whoever runs hutch. It is given to the
// code that was refused, and to whoever reads of it.
#pragma once

#include <string>
#include <string_view>

namespace sandbox::egress {

// This is the reason of what no rule allows.
inline constexpr std::string_view kNotAllowed = "not allowed by this session's network policy";

// Returns how such a reason goes on. `rule` is the one that would allow it, `flag_note` what there
// is to say of the flag, and `command` starts this hutch, where that is known.
inline std::string advice_on(std::string_view session_id, const std::string& rule,
                             std::string_view flag_note = "", std::string_view command = "hutch") {
  std::string advice = ". Whoever runs hutch can allow it: ";
  advice.append(command).append(" sessions allow ").append(session_id);
  advice.append(" " + rule + " (at once), --allow " + rule + " when it starts").append(flag_note);
  return advice + ", or allow in [network] of the configuration";
}

}  // namespace sandbox::egress
