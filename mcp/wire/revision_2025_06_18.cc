// Adds titles, structured content with output schemas, resource links; takes batches away.
// https://modelcontextprotocol.io/specification/2025-06-18
#include "mcp/wire/revision.h"

namespace mcp::wire {

const Format k2025_06_18{
    .revision = Revision::k2025_06_18,
    .name = "2025-06-18",
    .modern = false,
    .batches = false,
    .unknown_id_is_null = true,
    .has_audio = true,
    .has_tool_annotations = true,
    .has_progress_message = true,
    .has_titles = true,
    .has_websites = false,
    .has_structured_content = true,
    .has_any_structured_content = false,
    .has_resource_links = true,
    .has_metadata = true,
    .has_icons = false,
    .has_last_modified = true,
    .has_completions = true,
    .has_core_tasks = false,
    .resource_not_found = -32002,
    .has_result_type = false,
};

}  // namespace mcp::wire
