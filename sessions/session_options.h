// A new session as whoever asks for it wants it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "sandbox/limits.h"
#include "sessions/filesystem_choice.h"
#include "sessions/network_choice.h"
#include "sessions/session.h"

namespace sessions {

struct SessionOptions {
  std::string name;           // empty: none
  std::string template_name;  // empty: the usual one
  // It names the connection that asks. The processes of a session without a name end with it, soon
  // after what is in progress; empty: no connection.
  std::string connection_id;
  // The session is made for a call that names no session, for a client without a connection. Of
  // these at most ten of a principal keep a box; the one unused for longest gives way, and none
  // that is at work.
  bool unasked = false;
  std::optional<std::int64_t> lifetime_seconds;
  std::optional<sandbox::Limits> limits;  // nothing: the defaults
  FilesystemWish filesystem;
  NetworkWish network;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> metadata;  // labels that its client wants to find it by
  std::string working_directory = sandbox::kWorkspace;  // a directory that every box has
  bool public_ports = false;                            // as in Session
  bool wakes_by_port = true;
  bool pauses_at_end = false;
  std::optional<std::string> port_host;
};

// Fails with kInvalid, which says what a name may be.
base::Status check_session_name(const std::string& name);

}  // namespace sessions
