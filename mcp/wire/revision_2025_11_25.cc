// The last revision with initialize. Adds icons and experimental tasks.
// https://modelcontextprotocol.io/specification/2025-11-25
#include "mcp/wire/revision.h"

namespace mcp::wire {

const Format k2025_11_25{
    .revision = Revision::k2025_11_25,
    .name = "2025-11-25",
    .modern = false,
    .batches = false,
    .unknown_id_is_null = false,
    .has_audio = true,
    .has_tool_annotations = true,
    .has_progress_message = true,
    .has_titles = true,
    .has_websites = true,
    .has_structured_content = true,
    .has_any_structured_content = false,
    .has_resource_links = true,
    .has_metadata = true,
    .has_icons = true,
    .has_last_modified = true,
    .has_completions = true,
    .has_core_tasks = true,
    .resource_not_found = -32002,
    .has_result_type = false,
};

}  // namespace mcp::wire
