// Rows of the table of sessions, for the tables that read or write them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sessions/session.h"
#include "sessions/session_table.h"
#include "sessions/sqlite.h"

namespace sessions {

#define SESSION_COLUMNS                                                                         \
  "id, principal_id, name, template, status, ends_with_connection, limits, env, isolation, "    \
  "host_uid, lifetime_seconds, idle_seconds, retention_seconds, created_at, last_used_at, "     \
  "ended_at, error, host_folders, unasked, network, paths, metadata, boot_id, boot_offset_ms, " \
  "connection_server, working_directory, public_ports, wakes_by_port, "                         \
  "pauses_at_end, port_host"

// It is in the very words of the index sessions_with_box.
#define HAS_BOX "status IN ('provisioning', 'ready', 'running', 'paused')"

// They read a row of SESSION_COLUMNS, and all that are left. A column whose text is not as hutch
// writes it is named in Session::unreadable.
Session read_session(Statement& row);
base::Result<std::vector<Session>> read_all_sessions(Statement& rows);

// They return the texts of columns. The texts of folders, paths and networks are NULL where there
// was no choice.
std::string limits_text(const Session& session);
std::string strings_text(const std::map<std::string, std::string>& strings);
std::optional<std::string> folders_text(const Session& session);
std::optional<std::string> paths_text(const Session& session);
std::optional<std::string> isolation_text(const std::optional<sandbox::Isolation>& isolation);
std::optional<std::string> network_text(const std::optional<NetworkChoice>& network);

// Fails with kLimit when the principal has as many boxes already, or as many sessions.
base::Status check_boxes(Database& database, const std::string& principal_id, std::int64_t most);
base::Status check_room(Database& database, const std::string& principal_id,
                        const SessionBounds& bounds);
// `sql` has the principal as its parameter.
base::Result<std::int64_t> count_sessions(Database& database, const char* sql,
                                          const std::string& principal_id);

// Returns what the principal hears when the row was refused.
base::Error why_refused(base::Error refusal, const Session& session);

}  // namespace sessions
