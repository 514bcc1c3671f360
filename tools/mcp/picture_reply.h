// A picture of a session's files as an image that the client sees. One that is too large for a
// result, or that no client shows, is drawn anew first, by a run inside of the session: a picture
// is as hostile as any other file, and may take over what decodes it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "mcp/call_context.h"
#include "sandbox/files/box_files.h"
#include "sessions/session.h"
#include "tools/mcp/tool_kit.h"

namespace tools {

// Returns true for the types that clients show as images.
bool is_picture(const std::string& mime_type);

// Fails with kInvalid where it is too large and cannot be drawn smaller either; the words say why,
// and what else can be done. A token that may only read starts no run, and so has no smaller one.
base::Result<Reply> picture_reply(const Services& services, const sessions::Session& session,
                                  const sandbox::files::BoxFiles& files, const std::string& path,
                                  const std::string& mime_type, mcp::CallContext& context);

// Returns true for types that phones, scanners and others make, and that clients show only as
// another one.
bool is_drawn_first(const std::string& mime_type);

// Returns the reply with a JPEG of it, drawn in the same way; nothing where it cannot be drawn.
base::Result<std::optional<Reply>> redrawn_reply(const Services& services,
                                                 const sessions::Session& session,
                                                 const sandbox::files::BoxFiles& files,
                                                 const std::string& path,
                                                 const std::string& mime_type,
                                                 mcp::CallContext& context);

}  // namespace tools
