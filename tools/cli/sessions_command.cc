// hutch sessions: what is there, and what to do with it, from the shell.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iomanip>
#include <iostream>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "sessions/audit_table.h"
#include "sessions/manager.h"
#include "sessions/run_table.h"
#include "sessions/session_directory.h"
#include "sessions/session_states.h"
#include "sessions/sessions.h"
#include "sessions/store.h"
#include "sessions/upkeep_table.h"
#include "tools/cli/commands.h"
#include "tools/session_view.h"
#include "tools/text_window.h"

namespace tools::cli {

using nlohmann::json;

namespace {

constexpr std::int64_t kRunsShown = 20;
constexpr std::int64_t kAuditShown = 100;

base::Result<int> list(Application& app, bool as_json) {
  const auto states = TRY(app.services().states.list(app.principal_id(), std::nullopt));
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
            << "STATUS" << std::setw(8) << "ACTIVE"
            << "LAST USED\n";
  for (const auto& state : states) {
    const json session = structured_session(state);
    std::cout << std::setw(42) << state.session.id << std::setw(18)
              << state.session.name.value_or("-") << std::setw(10) << name_of(state.session.status)
              << std::setw(8) << state.active.size() << session["last_used_at"].get<std::string>()
              << "\n";
  }
  if (states.size() >= sessions::SessionStates::kListedMax) {
    std::cout << "Only the " << states.size() << " that were used last are listed.\n";
  }
  return 0;
}

// As its rows have it; what is no JSON is left out.
json audit_of(const std::vector<sessions::AuditEntry>& entries) {
  json audit = json::array();
  for (const auto& entry : entries) {
    auto detail = base::parse_json(entry.detail);
    audit.push_back({{"at", base::to_rfc3339(entry.at)},
                     {"action", entry.action},
                     {"detail", detail.ok() ? std::move(detail).value() : json::object()}});
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
  session["runs"] = json::array();
  const auto runs = TRY(app.store().runs.of_session(state.session.id, kRunsShown));
  for (const auto& run : runs) {
    session["runs"].push_back(
        {{"run_id", run.id}, {"language", run.language}, {"status", run.status}});
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
  for (const json& run : session["runs"]) {
    std::cout << "  " << run["run_id"].get<std::string>() << "  " << std::left << std::setw(12)
              << run["language"].get<std::string>() << run["status"].get<std::string>() << "\n";
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
  return or_no_such_session(act(app, action, id, as_json));
}

base::Result<int> expire_sessions(Application& app) {
  const bool was_held = TRY(app.store().upkeep.release_deletion());
  app.manager().sweep({});
  std::cout << (was_held ? "deleted what is over its time\n" : "nothing was held back\n");
  return 0;
}

base::Result<int> or_no_such_session(base::Result<int> done) {
  if (done.ok() || done.error().kind != base::Error::Kind::kNotFound) return done;
  return base::error(base::Error::Kind::kNotFound,
                     "no such session, or it was deleted; `hutch sessions ls` shows those there "
                     "are");
}

}  // namespace tools::cli
