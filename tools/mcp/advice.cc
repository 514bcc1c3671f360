#include "tools/mcp/advice.h"

#include <algorithm>
#include <string_view>

#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/egress/session_advice.h"
#include "sessions/manager_config.h"
#include "sessions/network_choice.h"
#include "sessions/quotas.h"
#include "sessions/runs.h"
#include "sessions/session_table.h"
#include "sessions/store.h"

namespace tools {

namespace {

using sandbox::Cause;
using sandbox::Run;

// These are words of sandbox/box/ending.cc and remarks.cc, and of sandbox/files/open_in_root.cc:
// tests hold them together.
constexpr std::string_view kMoreSeconds = "give it more (timeout_seconds), or use background: true";
constexpr std::string_view kMoreInBackground =
    "give it more, or none: timeout_seconds is what you choose";
constexpr std::string_view kMoreOfALimit = "create_session with more";
constexpr std::string_view kAsksForAFolder = "(--mount NAME=PATH)";
constexpr std::string_view kAllowCommand = "hutch sessions allow ";
constexpr std::size_t kNamesBytesMax = 200;

bool contains_words(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

void replace_words(std::string& text, std::string_view words, const std::string& others) {
  const std::size_t at = text.find(words);
  if (at != std::string::npos) text.replace(at, words.size(), others);
}

// Puts the caller's own way in the place of the operator's, which is all from kAdvice on.
void replace_advice(std::string& text, const std::string& way) {
  const std::size_t begin = text.find(sandbox::egress::kAdvice);
  if (begin == std::string::npos) return;
  const std::size_t last = text.find(sandbox::egress::kAdviceEnd, begin);
  if (last == std::string::npos) return;
  text.replace(begin, last + sandbox::egress::kAdviceEnd.size() - begin, way);
}

void fit_refusal(const AdviceFacts& facts, sandbox::NetworkUse::Refusal& refusal) {
  if (refusal.reason.starts_with(sandbox::kNotAllowed)) {
    const auto name = sessions::name_to_ask(refusal.host, facts.network);
    if (name)
      replace_advice(refusal.reason, ": " + own_way(*name, facts.session_id, facts.command));
  }
  refusal.reason = with_command(std::move(refusal.reason), facts.command);
}

// Nobody knows which host was meant: without a network there is none that could be asked for one.
void fit_no_network(const AdviceFacts& facts, std::string& note) {
  if (!contains_words(note, sandbox::kNoNetworkNote)) return;
  const std::string names = sessions::names_to_ask(facts.network);
  if (!names.empty()) {
    replace_advice(
        note,
        ". create_session's network.allow can have: " + base::shortened(names, kNamesBytesMax) +
            "; this session: " + facts.command + " sessions allow " + facts.session_id + " HOST");
  }
  note = with_command(std::move(note), facts.command);
}

void fit_seconds(const AdviceFacts& facts, Run& run) {
  if (!run.error || run.error->cause != Cause::kTimeout || facts.longest_seconds <= 0 ||
      run.timeout_seconds < facts.longest_seconds) {
    return;
  }
  const std::string most = std::to_string(facts.longest_seconds);
  const bool is_own = facts.limits.run_seconds == facts.longest_seconds;
  replace_words(run.error->message, kMoreSeconds,
                (is_own ? "limits.run_seconds is " + most : most + " is the most here") +
                    ": use background: true");
  replace_words(run.error->message, kMoreInBackground,
                "leave timeout_seconds out: then it has no end");
}

// A session that has the most of a limit is told so, since another would have no more.
void fit_limits(const AdviceFacts& facts, std::string& text) {
  if (!contains_words(text, kMoreOfALimit)) return;
  for (const sandbox::LimitRow& row : sandbox::kLimitRows) {
    const std::int64_t most = facts.most_limits.*row.member;
    const std::string name = std::string("limits.") + row.name;
    if (facts.limits.*row.member < most || !contains_words(text, name)) continue;
    base::append_part(
        text, name + " has its most here, " + std::to_string(most) + ": no other session has more",
        "; ");
  }
}

}  // namespace

std::string with_command(std::string words, const std::string& command) {
  replace_words(words, kAllowCommand, command + " sessions allow ");
  return words;
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
  if (folders.unasked || !contains_words(error.message, kAsksForAFolder)) return error;
  std::string places;
  for (const sandbox::HostFolder& folder : folders.all) {
    base::append_part(places, sandbox::place_of(folder) + (folder.writable ? "" : " (read-only)"));
  }
  if (!places.empty()) error.message += "; create_session's filesystem can have: " + places;
  return error;
}

bool has_advice(const Run& run) {
  if (contains_words(run.note, sandbox::egress::kAdvice) || contains_words(run.note, kMoreOfALimit))
    return true;
  if (run.error &&
      (run.error->cause == Cause::kTimeout || contains_words(run.error->message, kMoreOfALimit)))
    return true;
  return std::any_of(
      run.network.refused.begin(), run.network.refused.end(),
      [](const auto& refusal) { return contains_words(refusal.reason, sandbox::egress::kAdvice); });
}

void fit_advice(const AdviceFacts& facts, Run& run) {
  fit_no_network(facts, run.note);
  fit_limits(facts, run.note);
  for (auto& refusal : run.network.refused) fit_refusal(facts, refusal);
  fit_seconds(facts, run);
  if (run.error) fit_limits(facts, run.error->message);
}

void fit_advice(const Services& services, const std::string& session_id, Run& run) {
  const auto session = services.store.sessions.find_of_any(session_id);
  if (!session.ok()) return;
  fit_advice({.network = services.config.network,
              .command = services.command,
              .session_id = session_id,
              .limits = session.value().limits,
              .most_limits = services.quotas.now().most_limits,
              .longest_seconds = services.runs.longest_seconds(session.value())},
             run);
}

}  // namespace tools
