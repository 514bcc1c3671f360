// hutch sessions allow: hosts for one session, while it lives.
#include <iostream>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "sessions/boxes.h"
#include "sessions/network_changes.h"
#include "sessions/sessions.h"
#include "tools/cli/commands.h"
#include "tools/cli/network_sets.h"

namespace tools::cli {

using nlohmann::json;

namespace {

base::Result<std::vector<sandbox::NetworkRule>> rules_in(const std::vector<std::string>& texts) {
  std::vector<sandbox::NetworkRule> rules;
  for (const std::string& text : texts) {
    if (const auto set = network_set(text)) {
      rules.insert(rules.end(), set->begin(), set->end());
    } else {
      rules.push_back(TRY(sandbox::parse_network_rule(text)));
    }
  }
  return rules;
}

std::string list_of(const std::vector<sandbox::NetworkRule>& rules) {
  std::string text;
  for (const auto& rule : rules) base::append_part(text, sandbox::text_of(rule));
  return text;
}

base::Result<int> allow(Application& app, const AllowOptions& options) {
  const auto rules = TRY(rules_in(options.hosts));
  const std::string& principal = app.principal_id();
  const auto session = TRY(app.services().sessions.find(principal, options.session));
  std::string later = TRY(app.services().network_changes.allow(session, rules, options.take_back));
  if (!later.empty() && options.restart) {
    TRY(app.services().boxes.restart(session));
    later.clear();
  }
  if (options.as_json) {
    json said = {{"session_id", session.id},
                 {"rules", sandbox::rules_to_json(rules)},
                 {"allowed", !options.take_back},
                 {"holds", later.empty() ? "now" : "next_start"}};
    if (!later.empty()) said["reason"] = later;
    std::cout << base::print_json(said) << "\n";
    return 0;
  }
  std::cout << options.session << (options.take_back ? " may not reach " : " may reach ")
            << list_of(rules) << (options.take_back ? " any more" : "")
            << (later.empty() ? ""
                              : ", from the next start of its processes on: " + later +
                                    " (--restart ends them now; files stay)")
            << "\n";
  return 0;
}

}  // namespace

base::Result<int> allow_session(Application& app, const AllowOptions& options) {
  return or_no_such_session(app.settings(), allow(app, options));
}

}  // namespace tools::cli
