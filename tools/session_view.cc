#include "tools/session_view.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "sandbox/box_spec.h"
#include "sandbox/enforcement.h"
#include "sandbox/limits.h"
#include "sessions/session.h"
#include "sessions/session_state.h"
#include "sessions/session_states.h"
#include "sessions/session_time.h"
#include "tools/text_window.h"

namespace tools {

using nlohmann::json;

namespace {

const char* words_of_waking(sessions::Tier tier) {
  switch (tier) {
    case sessions::Tier::kFrozen:
      return "it was frozen, and goes on as it was";
    case sessions::Tier::kStored:
      return "it was stored: each language has its variables again with its next run";
    default:
      return "it had its files alone: its interpreters begin anew";
  }
}

// Where the code sees them; the host's own paths are not for every client.
json filesystem_of(const std::vector<sandbox::HostFolder>& folders,
                   const sandbox::PathRules& rules) {
  json value = {
      {"read_only", json::array()}, {"read_write", json::array()}, {"blocked", json::array()}};
  for (const sandbox::HostFolder& folder : folders) {
    const std::string place = sandbox::place_of(folder);
    value[folder.writable ? "read_write" : "read_only"].push_back(place);
    for (const std::string& path : folder.blocked) value["blocked"].push_back(place + "/" + path);
  }
  const json paths = sandbox::path_rules_to_json(rules);
  for (const auto& [key, own] : paths.items()) {
    value[key].insert(value[key].end(), own.begin(), own.end());
  }
  return value;
}

// Says where what it knows is while it rests, and what comes next where that is not plain.
void add_tier(json& value, const sessions::SessionState& state) {
  if (const auto tier = sessions::tier_of(state.session.status)) value["tier"] = name_of(*tier);
  if (state.session.status == sessions::SessionStatus::kPaused) {
    if (state.is_storing) {
      value["note"] = "what it knows is being stored; it wakes by itself at the next use";
    } else if (!state.held_by.empty()) {
      value["note"] = "it stays in memory, since " + one_line(state.held_by) +
                      "; what can be stored of it is stored; it wakes by itself at the next use";
    }
  } else if (state.woken_from) {
    value["note"] = words_of_waking(*state.woken_from);
  }
}

}  // namespace

json structured_session(const sessions::SessionState& state) {
  const sessions::Session& session = state.session;
  json value = {{"session_id", session.id},
                {"name", session.name ? json(*session.name) : json()},
                {"status", name_of(session.status)},
                {"template", session.template_name},
                {"created_at", base::to_rfc3339(session.created_at)},
                {"last_used_at", base::to_rfc3339(session.last_used_at)},
                {"limits", sandbox::limits_to_json(session.limits)},
                {"active_runs", json::array()}};
  const sandbox::Isolation isolation = session.isolation.value_or(sandbox::Isolation());
  value["filesystem"] = filesystem_of(isolation.host_folders, session.paths);
  value["network"]["allow"] = sandbox::rules_to_json(isolation.network);
  for (const sandbox::Credential& credential : isolation.credentials) {
    value["network"]["credentials"].push_back(credential.name);
  }
  // As the box that runs found it, or the last one that did.
  if (session.isolation) {
    value["isolation"] = sandbox::layers_to_json(isolation);
    value["enforcement"] = sandbox::enforcement_to_json(sandbox::enforcement_of(isolation));
  }
  if (session.working_directory != sandbox::kWorkspace) {
    value["working_directory"] = session.working_directory;
  }
  if (const auto over = sessions::ends_at_ms(session)) value["ends_at"] = base::to_rfc3339(*over);
  if (session.error) value["error"] = *session.error;
  add_tier(value, state);
  for (const sandbox::Run& run : state.active) {
    value["active_runs"].push_back({{"run_id", run.run_id},
                                    {"language", name_of(run.language)},
                                    {"status", name_of(run.status)},
                                    {"background", run.background}});
  }
  return value;
}

json structured_in_list(const sessions::SessionState& state) {
  json value = structured_session(state);
  for (const sandbox::LimitRow& row : sandbox::kLimitRows) {
    if (state.session.limits.*row.member == sandbox::Limits().*row.member) {
      value["limits"].erase(row.name);
    }
  }
  return value;
}

json structured_pause(const sessions::SessionState& state) {
  json value = structured_session(state);
  if (state.session.status == sessions::SessionStatus::kStopped) {
    value["note"] = "it has nothing running to pause; its files are kept";
  } else if (state.session.status == sessions::SessionStatus::kStored) {
    value["note"] = "what it knows is stored, and it takes no memory until it is used";
  } else if (state.session.status == sessions::SessionStatus::kPaused && !value.contains("note")) {
    value["note"] = "it stays in memory; it wakes by itself at the next use";
  }
  return value;
}

namespace {

// Returns a line about limits that are not as in any session, and about those that the kernel does
// not hold; empty where there are none.
std::string line_of_limits(const json& value) {
  std::string limits;
  for (const sandbox::LimitRow& row : sandbox::kLimitRows) {
    const std::int64_t usual = sandbox::Limits().*row.member;
    const std::int64_t limit = base::integer_or(value["limits"], row.name, usual);
    if (limit == usual) continue;
    base::append_part(limits, std::string(row.name) + " " + std::to_string(limit));
  }
  std::map<std::string, std::string> of_level;
  const json enforcement = value.value("enforcement", json::object());
  for (const auto& [name, level] : enforcement.items()) {
    if (level == "hard") continue;
    std::string& names = of_level[level.get<std::string>()];
    base::append_part(names, name);
  }
  std::string line = limits.empty() ? "" : "limits " + limits;
  for (const auto& [level, names] : of_level) {
    base::append_part(line, level + " limits: " + names, "; ");
  }
  return line.empty() ? "" : "  " + line + "\n";
}

}  // namespace

std::string text_of_session(const json& value, Detail detail) {
  std::string text = value["session_id"].get<std::string>();
  if (!value.value("name", json()).is_null())
    text += " \"" + value["name"].get<std::string>() + "\"";
  text += " " + value["status"].get<std::string>();
  if (value.contains("tier")) text += ", tier " + value["tier"].get<std::string>();
  text += ", last used " + value["last_used_at"].get<std::string>();
  if (value.contains("ends_at")) text += ", ends " + value["ends_at"].get<std::string>();
  if (value.contains("working_directory")) {
    text += ", works in " + value["working_directory"].get<std::string>();
  }
  if (value.contains("error")) text += ", " + value["error"].get<std::string>();
  text += "\n";
  for (const char* key : {"read_only", "read_write", "blocked"}) {
    for (const json& path : value["filesystem"][key]) {
      text += "  " + path.get<std::string>() + " " + key + "\n";
    }
  }
  std::string hosts;
  const json network = value.value("network", json::object());
  for (const json& host : network.value("allow", json::array()))
    hosts += " " + host.get<std::string>();
  if (!hosts.empty()) text += "  may reach" + hosts + "\n";
  for (const json& run : value["active_runs"]) {
    text += "  " + run["run_id"].get<std::string>() + " " + run["language"].get<std::string>() +
            " " + run["status"].get<std::string>() +
            (run["background"] == true ? ", background" : "") + "\n";
  }
  if (detail == Detail::kUnusual) text += line_of_limits(value);
  if (detail == Detail::kWhole && value.contains("isolation")) {
    text += "  limits " + value["limits"].dump() + ", enforcement " + value["enforcement"].dump() +
            ", isolation " + value["isolation"].dump() + "\n";
  }
  if (value.contains("note")) text += "  note: " + value["note"].get<std::string>() + "\n";
  return text;
}

}  // namespace tools
