#include "sessions/session_rows.h"

namespace sessions {

Session read_session(Statement& row) {
  Session session;
  session.id = row.text();
  session.principal_id = row.text();
  session.name = row.optional_text();
  session.template_name = row.text();
  session.status = row.text();
  session.ends_with_connection = row.integer() != 0;
  session.limits = row.text();
  session.env = row.text();
  session.isolation = row.optional_text();
  session.host_uid = row.optional_integer();
  session.lifetime_seconds = row.optional_integer();
  session.idle_seconds = row.integer();
  session.retention_seconds = row.integer();
  session.created_at = row.integer();
  session.last_used_at = row.integer();
  session.ended_at = row.optional_integer();
  session.error = row.optional_text();
  session.host_folders = row.optional_text();
  session.unasked = row.integer() != 0;
  session.network = row.optional_text();
  session.paths = row.optional_text();
  session.metadata = row.text();
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

}  // namespace sessions
