#include "tools/mcp/call_session.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "sessions/connection_sessions.h"
#include "sessions/session_options.h"
#include "sessions/session_state.h"
#include "sessions/session_states.h"
#include "sessions/sessions.h"
#include "tools/log_members.h"
#include "tools/scopes.h"
#include "tools/text_window.h"

namespace tools {
namespace {

constexpr std::size_t kEarlierShown = 2;

base::Error needs_session_id(const std::string& why) {
  return base::error(base::Error::Kind::kInvalid, "session_id is needed: " + why);
}

base::Result<sessions::Session> new_session(const Services& services,
                                            const std::string& principal_id) {
  sessions::SessionOptions options;
  options.unasked = true;
  return std::move(TRY(services.sessions.create(principal_id, options)).session);
}

base::Result<CallSession> find_or_make(const Services& services, const Arguments& arguments,
                                       const mcp::CallContext& context, NewSession use) {
  const std::string& principal = context.principal().id;
  if (arguments.has("session_id")) {
    auto session = TRY(services.sessions.find(principal, arguments.text("session_id")));
    const bool is_default = session.id == default_session_id(services, context);
    return CallSession{std::move(session), is_default, false};
  }
  // The calls of such a client have nothing in common: one that names no session has none yet.
  const bool is_alone = services.session_name.empty() && context.connection_id().empty();
  if (is_alone && use == NewSession::kUseless) {
    return needs_session_id(
        "pass the one that run_code, write_file or create_session returned; list_sessions shows "
        "all");
  }
  if (!may_change(context.principal().scopes)) {
    return needs_session_id(
        "the token of this client may only read, and without an id a session would be made");
  }
  CallSession made{.session = {}, .is_default = !is_alone, .is_new = is_alone};
  if (is_alone) {
    made.session = TRY(new_session(services, principal));
  } else if (services.session_name.empty()) {
    made.session = TRY(services.sessions.session_of_connection(principal, context.connection_id()));
  } else {
    made.session = TRY(services.sessions.find_or_create_named(principal, services.session_name));
  }
  return made;
}

std::string line_of(const sessions::EarlierSession& earlier) {
  const sessions::Session& session = earlier.session;
  // "2026-11-24": who goes on with one looks at its files.
  const std::string day = base::to_rfc3339(session.last_used_at).substr(0, 10);
  std::string what = std::to_string(earlier.entries) + (earlier.has_more ? "+" : "");
  if (earlier.entries == 0) what = earlier.has_variables ? "variables" : "a shell's state";
  return (session.name ? "\"" + one_line(*session.name) + "\"" : session.id) + " (" + day + ", " +
         what + ")";
}

}  // namespace

base::Result<CallSession> resolve(const Services& services, const Arguments& arguments,
                                  const mcp::CallContext& context, NewSession use) {
  auto found = find_or_make(services, arguments, context, use);
  if (found.ok()) LogMembers::set("session", found.value().session.id);
  return found;
}

std::string default_session_id(const Services& services, const mcp::CallContext& context) {
  const std::string& principal = context.principal().id;
  if (services.session_name.empty()) {
    const sessions::ConnectionSessions& connections = services.connections;
    return connections.default_of({principal, context.connection_id()});
  }
  const auto named = services.sessions.find(principal, services.session_name);
  return named.ok() ? named.value().id : "";
}

void introduce(const Services& services, const mcp::CallContext& context, Reply& reply) {
  const std::string& principal = context.principal().id;
  if (context.connection_id().empty()) return;
  const auto id = services.connections.take_introduction({principal, context.connection_id()});
  if (!id) return;
  if (!reply.structured->contains("session_id")) reply.structured["session_id"] = *id;
  std::string said = "default session: " + *id;
  // Without them the result is still a result.
  const auto earlier = services.states.earlier_with_something(principal, *id, kEarlierShown);
  if (earlier.ok() && !earlier.value().empty()) {
    said += "; earlier ones with files or variables: ";
    for (const sessions::EarlierSession& one : earlier.value()) said += line_of(one) + ", ";
    said.resize(said.size() - 2);
  }
  add_note(reply, said);
}

}  // namespace tools
