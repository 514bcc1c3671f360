#include "sessions/session_rows.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/address_range.h"
#include "sandbox/box_spec.h"
#include "sessions/sqlite.h"
#include "sessions/text_memo.h"

namespace sessions {

using base::Error;

using base::parse_json;
using base::print_json;
using nlohmann::json;

namespace {

using Strings = std::map<std::string, std::string>;

base::Error malformed() {
  return base::error(base::Error::Kind::kInternal, "it is not as hutch writes it");
}

// Members that are not there have their default: an older hutch wrote those alone that were given.
base::Result<sandbox::Limits> limits_in(const std::string& text) {
  static TextMemo<sandbox::Limits> memo([](const std::string& unread) {
    const auto value = parse_json(unread);
    if (!value.ok()) return base::Result<sandbox::Limits>(value.error());
    return sandbox::limits_from_json(value.value(), sandbox::Limits(), sandbox::widest_limits());
  });
  return memo.value_of(text);
}

base::Result<Strings> strings_in(const std::string& text) {
  Strings strings;
  if (text == "{}") return strings;
  const json value = TRY(parse_json(text));
  if (!value.is_object()) return malformed();
  for (const auto& [name, entry] : value.items()) {
    if (!entry.is_string()) return malformed();
    strings[name] = entry.get<std::string>();
  }
  return strings;
}

base::Result<std::vector<std::string>> texts_in(const json& value, const char* key) {
  std::vector<std::string> texts;
  for (const json& entry : value.value(key, json::array())) {
    if (!entry.is_string()) return malformed();
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

base::Result<std::optional<NetworkChoice>> network_in(const std::optional<std::string>& text) {
  if (!text) return std::optional<NetworkChoice>();
  const json value = TRY(parse_json(*text));
  if (!value.is_object()) return malformed();
  NetworkChoice choice;
  choice.allow = TRY(texts_in(value, "allow"));
  choice.credentials = TRY(texts_in(value, "credentials"));
  choice.denied = TRY(sandbox::ranges_from_json(value.value("deny_addresses", json())));
  return std::optional(std::move(choice));
}

base::Result<std::optional<std::vector<sandbox::HostFolder>>> folders_in(
    const std::optional<std::string>& text) {
  if (!text || *text == "[]") {
    return text ? std::optional(std::vector<sandbox::HostFolder>()) : std::nullopt;
  }
  const json value = TRY(parse_json(*text));
  auto folders = TRY(sandbox::folders_from_json(value));
  return std::optional(std::move(folders));
}

base::Result<sandbox::PathRules> paths_in(const std::optional<std::string>& text) {
  if (!text) return sandbox::PathRules();
  const json value = TRY(parse_json(*text));
  return sandbox::path_rules_from_json(value);
}

// Nothing depends on it, and its next box tells it anew: one that cannot be read is none.
std::optional<sandbox::Isolation> isolation_in(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  static TextMemo<sandbox::Isolation> memo([](const std::string& unread) {
    const auto value = parse_json(unread);
    if (!value.ok()) return base::Result<sandbox::Isolation>(value.error());
    return sandbox::isolation_from_json(value.value());
  });
  auto isolation = memo.value_of(*text);
  return isolation.ok() ? std::optional(std::move(isolation).value()) : std::nullopt;
}

// A member that cannot be read stays as a new session has it, and the session says so: others, and
// the end of this one, do not depend on it.
template <typename T>
void take(Session& session, const char* column, base::Result<T> read, T& member) {
  if (read.ok()) {
    member = std::move(read).value();
  } else {
    session.unreadable =
        std::string("sessions.") + column + " in the database: " + read.error().message;
  }
}

}  // namespace

std::string limits_text(const Session& session) {
  return print_json(sandbox::limits_to_json(session.limits));
}

std::string strings_text(const Strings& strings) { return print_json(json(strings)); }

std::optional<std::string> folders_text(const Session& session) {
  if (!session.host_folders) return std::nullopt;
  return print_json(sandbox::folders_to_json(*session.host_folders));
}

std::optional<std::string> isolation_text(const std::optional<sandbox::Isolation>& isolation) {
  if (!isolation) return std::nullopt;
  return print_json(sandbox::isolation_to_json(*isolation));
}

std::optional<std::string> paths_text(const Session& session) {
  if (session.paths.empty()) return std::nullopt;
  return print_json(sandbox::path_rules_to_json(session.paths));
}

std::optional<std::string> network_text(const std::optional<NetworkChoice>& network) {
  if (!network) return std::nullopt;
  json value{{"allow", network->allow}, {"credentials", network->credentials}};
  if (!network->denied.empty()) value["deny_addresses"] = sandbox::ranges_to_json(network->denied);
  return print_json(value);
}

Session read_session(Statement& row) {
  Session session;
  session.id = row.text();
  session.principal_id = row.text();
  session.name = row.optional_text();
  session.template_name = row.text();
  session.status = find_session_status(row.text()).value_or(SessionStatus::kError);
  session.ends_with_connection = row.integer() != 0;
  take(session, "limits", limits_in(row.text()), session.limits);
  take(session, "env", strings_in(row.text()), session.env);
  session.isolation = isolation_in(row.optional_text());
  session.host_uid = row.optional_integer();
  session.lifetime_seconds = row.optional_integer();
  session.idle_seconds = row.integer();
  session.retention_seconds = row.integer();
  session.created_at = row.integer();
  session.last_used_at = row.integer();
  session.ended_at = row.optional_integer();
  session.error = row.optional_text();
  take(session, "host_folders", folders_in(row.optional_text()), session.host_folders);
  session.unasked = row.integer() != 0;
  take(session, "network", network_in(row.optional_text()), session.network);
  take(session, "paths", paths_in(row.optional_text()), session.paths);
  take(session, "metadata", strings_in(row.text()), session.metadata);
  session.boot_id = row.text();
  session.boot_offset_ms = row.integer();
  session.connection_server = row.optional_text();
  session.working_directory = row.text();
  session.public_ports = row.integer() != 0;
  session.wakes_by_port = row.integer() != 0;
  session.pauses_at_end = row.integer() != 0;
  session.port_host = row.optional_text();
  return session;
}

base::Result<std::vector<Session>> read_all_sessions(Statement& rows) {
  std::vector<Session> sessions;
  while (TRY(rows.step())) sessions.push_back(read_session(rows));
  return sessions;
}

base::Result<std::int64_t> count_sessions(Database& database, const char* sql,
                                          const std::string& principal_id) {
  Statement statement = TRY(database.prepare(sql));
  TRY(statement.bind(principal_id).step());
  return statement.integer();
}

namespace {

std::string so_many(std::int64_t count) {
  return count == 1 ? "there is 1 session" : "there are " + std::to_string(count) + " sessions";
}

}  // namespace

base::Status check_boxes(Database& database, const std::string& principal_id, std::int64_t most) {
  const std::int64_t boxes = TRY(count_sessions(
      database, "SELECT count(*) FROM sessions WHERE principal_id = ? AND " HAS_BOX, principal_id));
  if (boxes < most) return base::done();
  return base::error(Error::Kind::kLimit,
                     so_many(boxes) +
                         " already, the most allowed: delete_session one that is not needed; "
                         "max_sessions in [session] of the configuration allows more");
}

base::Status check_room(Database& database, const std::string& principal_id,
                        const SessionBounds& bounds) {
  const std::int64_t kept = TRY(count_sessions(
      database, "SELECT count(*) FROM sessions WHERE principal_id = ? AND status <> 'destroyed'",
      principal_id));
  if (kept >= bounds.kept_max) {
    return base::error(Error::Kind::kLimit,
                       so_many(kept) +
                           " kept already, the most allowed: delete_session some that are not "
                           "needed; kept_sessions_max in [session] of the configuration allows "
                           "more");
  }
  return check_boxes(database, principal_id, bounds.sessions_max);
}

Error why_refused(Error refusal, const Session& session) {
  if (refusal.kind != Error::Kind::kConflict || !session.name) return refusal;
  return base::error(Error::Kind::kConflict,
                     "there is a session named \"" + *session.name +
                         "\" already: use its name as session_id, or choose another name");
}

}  // namespace sessions
