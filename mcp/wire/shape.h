// Our descriptions and results in the words of one revision.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "mcp/prompts.h"
#include "mcp/tool.h"
#include "mcp/wire/revision.h"

namespace mcp::wire {

// Returns a definition, a content block or the contents of a resource without the members that the
// revision does not know: title, icons, _meta, annotations.lastModified.
nlohmann::json fit(nlohmann::json object, const Format& format);

// `with_tasks` says that the server has tasks, so the tool may say whether it runs as one.
nlohmann::json shape_tool(const Tool& tool, const Format& format, bool with_tasks);
nlohmann::json shape_prompt(const Prompt& prompt, const Format& format);

// A content block that the revision does not know becomes text that says the same. Throws a json
// exception when `block` is none.
nlohmann::json shape_block(nlohmann::json block, const Format& format);
nlohmann::json shape_tool_result(ToolResult result, const Format& format);

// Adds resultType, unless it says its own, and serverInfo where the revision has them.
nlohmann::json finish_result(nlohmann::json result, const nlohmann::json& server_info,
                             const Format& format);

// Says how long a client may keep a result of a revision that says so, and for whom.
enum class Cache {
  kPublic,  // some minutes, for everybody
  kNever,   // not at all: it changes, and is one user's
};
void add_cache_hints(nlohmann::json& result, Cache cache, const Format& format);

nlohmann::json shape_progress(const nlohmann::json& token, double progress,
                              std::optional<double> total, const std::string& message,
                              const Format& format);

}  // namespace mcp::wire
