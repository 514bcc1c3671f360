// A session as it is known: its row, in types. JSON of the row is in session_rows.cc alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/host_folder.h"
#include "sandbox/isolation.h"
#include "sandbox/limits.h"
#include "sandbox/path_rules.h"
#include "sandbox/session_parts.h"
#include "sessions/network_choice.h"

namespace sessions {

// Session::connection_server begins with this for sessions of hutch serve, whose clients come back
// when the server has ended. A space and the server's id follow, but in rows of an older hutch.
inline constexpr const char* kLastingConnection = "lasting";

// This is the id of the principal whose sessions nobody has asked for yet.
inline constexpr const char* kSparePrincipal = "spare";

enum class SessionStatus {
  kProvisioning,  // a box is being started for it, the first or a later one
  kReady,
  kRunning,  // a run is on; its box alone says so, and no row has this value
  kPaused,   // its processes are frozen
  kStored,  // it has no box, and what its interpreters know lies on the disk; no row has this value
  kStopped,  // it has no box, and gets one with its next use
  kError,    // its first box did not come up
  kDestroyed,
};

// Returns the name as it is on the wire and in rows.
const char* name_of(SessionStatus status);
std::optional<SessionStatus> find_session_status(std::string_view name);

// Times are milliseconds since the epoch.
struct Session {
  std::string id;
  std::string principal_id;
  std::optional<std::string> name;
  std::string template_name = "host";
  SessionStatus status = SessionStatus::kProvisioning;
  bool ends_with_connection = false;
  bool unasked = false;  // made for a call that named none
  sandbox::Limits limits;
  std::map<std::string, std::string> env;
  std::optional<sandbox::Isolation> isolation;  // as its last box has told it
  // These folders of the host were asked for; absent: it has what its server grants every session.
  std::optional<std::vector<sandbox::HostFolder>> host_folders;
  sandbox::PathRules paths;
  std::map<std::string, std::string> metadata;  // labels that its client wants to find it by
  std::optional<NetworkChoice> network;         // nothing: no choice was made
  std::optional<std::int64_t> host_uid;         // until it is buried
  std::optional<std::int64_t> lifetime_seconds;
  std::int64_t idle_seconds = 600;
  std::int64_t retention_seconds = 7 * 86400;
  std::int64_t created_at = 0;
  std::int64_t last_used_at = 0;
  std::optional<std::int64_t> ended_at;
  std::optional<std::string> error;
  // Its row is damaged: no box of it starts, for this reason. It can be listed and deleted.
  std::optional<std::string> unreadable;
  // They say in which start of the machine it was made, and created_at minus the time since that
  // start. Until the next one its lifetime is counted by these, so that setting the clock changes
  // nothing.
  std::string boot_id;
  std::int64_t boot_offset_ms = 0;
  // This is the id of the server that has its connection, see kLastingConnection; absent: the
  // connection has ended, or there was none.
  std::optional<std::string> connection_server;
  // Its interpreters start in this directory, and relative paths of its files go from it.
  std::string working_directory = sandbox::kWorkspace;
  bool public_ports = false;  // who knows their address may come in, where the operator allows that
  bool wakes_by_port = true;  // when it is paused, a request to one of its ports resumes it
  bool pauses_at_end = false;  // when its lifetime is over, it is paused and not deleted
  // Requests to its ports have this as their header Host, with ${PORT} replaced; absent: Host stays
  // as it was sent.
  std::optional<std::string> port_host;
};

// Returns the error that callers get for a session that is no more.
base::Error deleted();

// Returns `path` where it is absolute, and else `path` below working_directory.
std::string absolute_path(const Session& session, const std::string& path);

}  // namespace sessions
