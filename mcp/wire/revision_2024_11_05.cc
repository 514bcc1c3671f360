// The first revision: text, images, embedded resources; stdio and HTTP+SSE.
// https://modelcontextprotocol.io/specification/2024-11-05
#include "mcp/wire/revision.h"

namespace mcp::wire {

const Format k2024_11_05{
    .revision = Revision::k2024_11_05,
    .name = "2024-11-05",
    .modern = false,
    .batches = false,
    .unknown_id_is_null = true,
    .has_audio = false,
    .has_tool_annotations = false,
    .has_progress_message = false,
    .has_titles = false,
    .has_websites = false,
    .has_structured_content = false,
    .has_any_structured_content = false,
    .has_resource_links = false,
    .has_metadata = false,
    .has_icons = false,
    .has_last_modified = false,
    .has_completions = false,
    .has_core_tasks = false,
    .resource_not_found = -32002,
    .has_result_type = false,
};

}  // namespace mcp::wire
