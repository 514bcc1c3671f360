// Which session a call means: the one that it names, or the default one of its connection.
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

// Says of a call what a session would be to it that is made for it alone. A look at what is there
// shows nothing in a new one.
enum class NewSession { kUseful, kUseless };

// Finds the session, or makes it where the call names none: one for the connection, or for the call
// alone. Fails with kInvalid where that would be useless, or the caller may only read.
base::Result<CallSession> resolve(const Services& services, const Arguments& arguments,
                                  const mcp::CallContext& context,
                                  NewSession use = NewSession::kUseful);

// Returns the id of the session that resolve() gives to calls of the connection without a
// session_id; empty while there is none.
std::string default_session_id(const Services& services, const mcp::CallContext& context);

// The first result that comes of a connection's default session says which one that is, and which
// earlier ones there are.
void introduce(const Services& services, const mcp::CallContext& context, Reply& reply);

}  // namespace tools
