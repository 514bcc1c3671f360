// Stateless: every request describes itself; server/discover instead of initialize; no ping.
// https://modelcontextprotocol.io/specification/2026-07-28
#include "mcp/wire/revision.h"

namespace mcp::wire {

const Format k2026_07_28{
    .revision = Revision::k2026_07_28,
    .name = "2026-07-28",
    .modern = true,
    .batches = false,
    .unknown_id_is_null = false,
    .has_audio = true,
    .has_tool_annotations = true,
    .has_progress_message = true,
    .has_titles = true,
    .has_websites = true,
    .has_structured_content = true,
    .has_any_structured_content = true,
    .has_resource_links = true,
    .has_metadata = true,
    .has_icons = true,
    .has_last_modified = true,
    .has_completions = true,
    .has_core_tasks = false,
    .resource_not_found = -32602,
    .has_result_type = true,
};

}  // namespace mcp::wire
