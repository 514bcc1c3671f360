// Finds the session that a call means: the one that it names, or the default one of its connection.
#pragma once

#include <string>

#include "base/result.h"
#include "mcp/call_context.h"
#include "sessions/session.h"
#include "tools/arguments.h"
#include "tools/mcp/tool_kit.h"
#include "tools/tools.h"

namespace tools {

struct CallSession {
  sessions::Session session;
  bool is_default = false;  // calls of this connection mean it without naming it
  bool is_new = false;      // made for this call alone, since its client has no connection
};

// Says whether a call can use a session that is made for it alone. One that only reads cannot,
// since a new session is empty.
enum class NewSession { kUseful, kUseless };

// Finds the session, or makes it where the call names none: one for the connection, or for the call
// alone. Fails with kInvalid where that would be useless, or the caller may only read.
base::Result<CallSession> resolve(const Services& services, const Arguments& arguments,
                                  const mcp::CallContext& context,
                                  NewSession use = NewSession::kUseful);

// Returns the id of the session that resolve() gives to calls of the connection without a
// session_id; empty while there is none.
std::string default_session_id(const Services& services, const mcp::CallContext& context);

// Adds to the first result of the connection's default session its id, and earlier sessions that
// hold files. Does nothing for later results.
void introduce(const Services& services, const mcp::CallContext& context, Reply& reply);

}  // namespace tools
