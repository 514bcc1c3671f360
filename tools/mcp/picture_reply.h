// A picture of a session's files as an image that the client sees. One that is too large for a
// result is drawn smaller first, by a run inside of the session: a picture is as hostile as any
// other file, and may take over what decodes it.
#pragma once

#include <string>

#include "base/result.h"
#include "mcp/call_context.h"
#include "sandbox/files/box_files.h"
#include "sessions/session.h"
#include "tools/mcp/tool_kit.h"

namespace tools {

// True for the types that clients show as images.
bool is_picture(const std::string& mime_type);

// Fails with kInvalid where it is too large and cannot be drawn smaller either; the words say why,
// and what else can be done. A token that may only read starts no run, and so has no smaller one.
base::Result<Reply> picture_reply(const Services& services, const sessions::Session& session,
                                  const sandbox::files::BoxFiles& files, const std::string& path,
                                  const std::string& mime_type, mcp::CallContext& context);

}  // namespace tools
