#include "tools/advice.h"

#include <algorithm>
#include <optional>

#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/egress/session_advice.h"
#include "sessions/manager_config.h"
#include "sessions/network_choice.h"
#include "sessions/quotas_in_force.h"
#include "sessions/session_table.h"

namespace tools {

namespace {

using sandbox::Run;
using sandbox::egress::advice_on;

constexpr std::size_t kNamesBytesMax = 200;

void fit_refusal(const AdviceFacts& facts, sandbox::NetworkUse::Refusal& refusal) {
  if (refusal.missing_rule.empty()) return;
  // A host that is allowed already is none to ask for.
  const auto name = refusal.host_is_allowed ? std::optional<std::string>()
                                            : sessions::name_to_ask(refusal.host, facts.network);
  refusal.reason += name ? ": " + own_way(*name, facts.session_id, facts.command)
                         : advice_on(facts.session_id, refusal.missing_rule, "", facts.command);
}

// Nobody knows which host was meant: without a network there is none that could be asked for one.
void fit_no_network(const AdviceFacts& facts, Run& run) {
  if (!run.lacks_network) return;
  const std::string names = sessions::names_to_ask(facts.network);
  const std::string way =
      names.empty()
          ? ""
          : ". create_session's network.allow can have: " + base::shortened(names, kNamesBytesMax) +
                "; this session: " + facts.command + " sessions allow " + facts.session_id +
                " HOST";
  base::append_part(run.note, note_of_no_network(facts.session_id, facts.command, way), "; ");
}

// A session that has the most of a limit is told so, since another would have no more.
void fit_limits(const AdviceFacts& facts, Run& run) {
  for (const sandbox::LimitRow& row : sandbox::kLimitRows) {
    const std::int64_t most = facts.most_limits.*row.member;
    const bool is_short =
        std::find(run.short_of.begin(), run.short_of.end(), row.name) != run.short_of.end();
    if (!is_short || !facts.limits || (*facts.limits).*row.member < most) continue;
    base::append_part(run.note,
                      std::string("limits.") + row.name + " has its most here, " +
                          std::to_string(most) + ": no other session has more",
                      "; ");
  }
}

}  // namespace

std::string note_of_no_network(const std::string& session_id, const std::string& command,
                               const std::string& way) {
  return "this session has no network but its own loopback: trying again does not help" +
         (way.empty() ? advice_on(session_id, "HOST", " (--packages for pip and npm)", command)
                      : way);
}

std::string own_way(const std::string& name, const std::string& session_id,
                    const std::string& command) {
  const std::string way = "create_session with network {\"allow\": [\"" + name + "\"]} has it";
  if (session_id.empty()) return way;
  const bool is_word = name.find_first_of(" *") == std::string::npos;
  return way + "; this session: " + command + " sessions allow " + session_id + " " +
         (is_word ? name : base::quoted_for_shell(name));
}

base::Error with_own_way(base::Error error, const sessions::GrantedFolders& folders) {
  if (folders.unasked || error.lack != base::Error::Lack::kHostFolder) return error;
  std::string places;
  for (const sandbox::HostFolder& folder : folders.all) {
    base::append_part(places, sandbox::place_of(folder) + (folder.writable ? "" : " (read-only)"));
  }
  if (!places.empty()) error.message += "; create_session's filesystem can have: " + places;
  return error;
}

bool has_advice(const Run& run) {
  return run.lacks_network || !run.short_of.empty() ||
         std::any_of(run.network.refused.begin(), run.network.refused.end(),
                     [](const auto& refusal) { return !refusal.missing_rule.empty(); });
}

void fit_advice(const AdviceFacts& facts, Run& run) {
  fit_no_network(facts, run);
  fit_limits(facts, run);
  for (auto& refusal : run.network.refused) fit_refusal(facts, refusal);
}

void fit_advice(const Services& services, const std::string& session_id, Run& run) {
  const auto session = services.session_table.find_of_any(session_id);
  fit_advice({.network = services.config.network,
              .command = services.command,
              .session_id = session_id,
              .limits = session.ok() ? std::optional(session.value().limits) : std::nullopt,
              .most_limits = services.quotas.now().most_limits},
             run);
}

}  // namespace tools
