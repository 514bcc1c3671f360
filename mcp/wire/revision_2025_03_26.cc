// Adds tool annotations, a message in progress, audio, Streamable HTTP; batches must be accepted.
// https://modelcontextprotocol.io/specification/2025-03-26
#include "mcp/wire/revision.h"

namespace mcp::wire {

const Format k2025_03_26{
    .revision = Revision::k2025_03_26,
    .name = "2025-03-26",
    .modern = false,
    .batches = true,
    .unknown_id_is_null = true,
    .has_audio = true,
    .has_tool_annotations = true,
    .has_progress_message = true,
    .has_titles = false,
    .has_websites = false,
    .has_structured_content = false,
    .has_any_structured_content = false,
    .has_resource_links = false,
    .has_metadata = false,
    .has_icons = false,
    .has_last_modified = false,
    .has_completions = true,
    .has_core_tasks = false,
    .resource_not_found = -32002,
    .has_result_type = false,
};

}  // namespace mcp::wire
