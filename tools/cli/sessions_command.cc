// hutch sessions: what is there, and what to do with it, from the shell.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iomanip>
#include <iostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "sessions/audit_table.h"
#include "sessions/manager.h"
#include "sessions/run_table.h"
#include "sessions/session_directory.h"
#include "sessions/session_states.h"
#include "sessions/sessions.h"
#include "sessions/store.h"
#include "sessions/stored_snapshots.h"
#include "sessions/upkeep_table.h"
#include "tools/cli/commands.h"
#include "tools/cli/own_command.h"
#include "tools/session_view.h"
#include "tools/text_window.h"

namespace tools::cli {

using nlohmann::json;

namespace {

constexpr std::int64_t kRunsShown = 20;
constexpr std::int64_t kAuditShown = 100;

base::Result<int> list(Application& app, bool as_json) {
  const auto listed = TRY(app.services().states.list(app.principal_id(), std::nullopt));
  const std::vector<sessions::SessionState>& states = *listed;
  if (as_json) {
    json all = json::array();
    for (const auto& state : states) all.push_back(structured_session(state));
    std::cout << base::print_json(all) << "\n";
    return 0;
  }
  if (states.empty()) {
    std::cout << "no sessions\n";
    return 0;
  }
  std::cout << std::left << std::setw(42) << "SESSION" << std::setw(18) << "NAME" << std::setw(10)
            << "STATUS" << std::setw(8) << "TIER" << std::setw(8) << "ACTIVE"
            << "LAST USED\n";
  for (const auto& state : states) {
    const json session = structured_session(state);
    std::cout << std::setw(42) << state.session.id << std::setw(18)
              << state.session.name.value_or("-") << std::setw(10) << name_of(state.session.status)
              << std::setw(8) << base::string_or(session, "tier", "-") << std::setw(8)
              << state.active.size() << session["last_used_at"].get<std::string>() << "\n";
  }
  if (states.size() >= sessions::SessionStates::kListedMax) {
    std::cout << "Only the " << states.size() << " that were used last are listed.\n";
  }
  return 0;
}

void add_missing(json& to, const char* key, const sandbox::Missing& missing) {
  if (missing.words.empty()) return;
  to[key] = missing.words;
  if (missing.left_out > 0) to[std::string(key) + "_left_out"] = missing.left_out;
}

// Returns by language what is not there after the next start of its interpreter, or was not after
// the last.
json losses_of(const sessions::SessionDirectory& files) {
  json losses = json::object();
  for (const auto& [language, index] : sessions::stored_snapshots(files)) {
    json of = json::object();
    if (index.ok()) {
      add_missing(of, "not_stored", index.value().not_stored);
      add_missing(of, "not_woken", index.value().not_woken);
      if (of.contains("not_woken")) of["woken_as_after"] = index.value().woken_as;
    } else {
      of["unreadable"] = index.error().message;
    }
    if (!of.empty()) losses[language] = std::move(of);
  }
  for (const auto& [language, index] : sessions::snapshots_set_aside(files)) {
    losses[language]["set_aside"] = index.ok() ? "its interpreters ended before they had read it"
                                               : "it is damaged: " + index.error().message;
  }
  return losses;
}

// A line for each: a name, and why it cannot be kept, are what the code has made them.
void print_losses(const json& losses) {
  const auto say = [](const std::string& line) {
    std::cout << "  " << one_line(to_utf8(line)) << "\n";
  };
  for (const auto& [language, of] : losses.items()) {
    const std::string after = base::string_or(of, "woken_as_after");
    for (const auto& [key, what] : {std::pair<const char*, std::string>("not_stored", "not stored"),
                                    {"not_woken", "not brought back after " + after}}) {
      for (const json& words : of.value(key, json::array())) {
        say(language + ": " + what + ": " + words.get<std::string>());
      }
      const std::int64_t left_out =
          base::integer_or(of, (key + std::string("_left_out")).c_str(), 0);
      if (left_out > 0) say(language + ": " + what + ": " + std::to_string(left_out) + " more");
    }
    if (of.contains("unreadable")) {
      say(language +
          ": what is stored does not say what it lacks: " + base::string_or(of, "unreadable"));
    }
    if (of.contains("set_aside")) {
      say(language + ": stored variables were set aside: " + base::string_or(of, "set_aside"));
    }
  }
}

// As its rows have it.
json audit_of(const std::vector<sessions::AuditEntry>& entries) {
  json audit = json::array();
  for (const auto& entry : entries) {
    audit.push_back(
        {{"at", base::to_rfc3339(entry.at)}, {"action", entry.action}, {"detail", *entry.detail}});
  }
  return audit;
}

// A name in it may hold anything: in quotes it is no other member.
std::string line_of(const json& entry) {
  std::string text =
      "  " + entry["at"].get<std::string>() + "  " + entry["action"].get<std::string>();
  for (const auto& [name, value] : entry["detail"].items()) {
    text += "  " + name + "=" + base::print_json(value);
  }
  return one_line(to_utf8(text));
}

base::Result<int> show(Application& app, const std::string& id, bool as_json) {
  auto found = TRY(app.services().sessions.find(app.principal_id(), id));
  const auto state = TRY(app.services().states.state_of(std::move(found)));
  json session = structured_session(state);
  const sessions::SessionDirectory files(app.settings().state_directory, state.session.id);
  session["directory"] = files.path();
  if (const std::int64_t bytes = files.stored_bytes(); bytes > 0) session["stored_bytes"] = bytes;
  if (json losses = losses_of(files); !losses.empty()) session["losses"] = std::move(losses);
  session["runs"] = json::array();
  const auto runs = TRY(app.store().runs.of_session(state.session.id, kRunsShown));
  for (const auto& run : runs) {
    json one = {{"run_id", run.id},
                {"language", run.language},
                {"status", run.status},
                {"queued_at", base::to_rfc3339(run.queued_at)}};
    if (run.finished_at) one["milliseconds"] = *run.finished_at - run.queued_at;
    session["runs"].push_back(std::move(one));
  }
  session["audit"] = audit_of(TRY(app.store().audit.of_session(state.session.id, kAuditShown)));
  if (as_json) {
    std::cout << base::print_json(session) << "\n";
    return 0;
  }
  std::cout << text_of_session(session) << "  " << session["directory"].get<std::string>() << "\n";
  if (session.contains("stored_bytes")) {
    std::cout << "  variables stored: " << session["stored_bytes"] << " bytes\n";
  }
  print_losses(session.value("losses", json::object()));
  for (const json& run : session["runs"]) {
    std::cout << "  " << run["run_id"].get<std::string>() << "  " << std::left << std::setw(12)
              << run["language"].get<std::string>() << std::setw(12)
              << run["status"].get<std::string>() << run["queued_at"].get<std::string>();
    if (run.contains("milliseconds")) std::cout << "  " << run["milliseconds"] << " ms";
    std::cout << "\n";
  }
  for (const json& entry : session["audit"]) std::cout << line_of(entry) << "\n";
  return 0;
}

base::Result<int> remove(Application& app, const std::string& id, bool as_json) {
  const auto session = TRY(app.services().sessions.find(app.principal_id(), id));
  TRY(app.services().sessions.destroy(app.principal_id(), session.id));
  if (as_json) {
    // As delete_session answers.
    const json gone = {{"session_id", session.id}, {"status", "destroyed"}};
    std::cout << base::print_json(gone) << "\n";
  } else {
    std::cout << "deleted " << id << "\n";
  }
  return 0;
}

// An interpreter of it that lives stores it anew after its next run.
base::Result<int> forget_state(Application& app, const std::string& id, bool as_json) {
  const auto session = TRY(app.services().sessions.find(app.principal_id(), id));
  const sessions::SessionDirectory files(app.settings().state_directory, session.id);
  const bool was_there = TRY(files.forget_state());
  if (as_json) {
    std::cout << base::print_json({{"session_id", session.id}, {"forgotten", was_there}}) << "\n";
  } else {
    std::cout << (was_there ? "deleted what was stored of " : "nothing was stored of ") << id
              << "\n";
  }
  return 0;
}

base::Result<int> act(Application& app, SessionAction action, const std::string& id, bool as_json) {
  switch (action) {
    case SessionAction::kList:
      return list(app, as_json);
    case SessionAction::kShow:
      return show(app, id, as_json);
    case SessionAction::kRemove:
      return remove(app, id, as_json);
    case SessionAction::kForgetState:
      return forget_state(app, id, as_json);
    case SessionAction::kPause:
    case SessionAction::kResume: {
      const json session =
          action == SessionAction::kPause
              ? structured_pause(TRY(app.services().sessions.pause(app.principal_id(), id)))
              : structured_session(TRY(app.services().sessions.resume(app.principal_id(), id)));
      std::cout << (as_json ? base::print_json(session) + "\n" : text_of_session(session));
      return 0;
    }
  }
  return 2;
}

}  // namespace

base::Result<int> run_sessions(Application& app, SessionAction action, const std::string& id,
                               bool as_json) {
  return or_no_such_session(app.settings(), act(app, action, id, as_json));
}

base::Result<int> expire_sessions(Application& app) {
  const bool was_held = TRY(app.store().upkeep.release_deletion());
  app.manager().sweep({});
  std::cout << (was_held ? "deleted what is over its time\n" : "nothing was held back\n");
  return 0;
}

base::Result<int> or_no_such_session(const Settings& settings, base::Result<int> done) {
  if (done.ok() || done.error().kind != base::Error::Kind::kNotFound) return done;
  return base::error(base::Error::Kind::kNotFound,
                     "no such session, or it was deleted; `" +
                         own_command(settings, process_environment()) +
                         " sessions ls` shows those there are");
}

}  // namespace tools::cli
