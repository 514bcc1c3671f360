// The revisions of MCP this server speaks. One file beside this one per revision says what it can
// express; shape.h turns our results into it.
#pragma once

#include <string_view>
#include <vector>

namespace mcp::wire {

enum class Revision { k2024_11_05, k2025_03_26, k2025_06_18, k2025_11_25, k2026_07_28 };

struct Format {
  Revision revision;
  const char* name;         // as in protocolVersion
  bool modern;              // self-describing requests; no initialize, no ping
  bool batches;             // arrays of messages must be accepted
  bool unknown_id_is_null;  // in an error; false: such an error has no id at all
  bool has_audio;
  bool has_tool_annotations;
  bool has_progress_message;
  bool has_titles;                  // tools and the server have them
  bool has_websites;                // the server has one
  bool has_structured_content;      // and outputSchema
  bool has_any_structured_content;  // not only objects
  bool has_resource_links;
  bool has_metadata;       // _meta of tools, resources, prompts and content
  bool has_icons;          // tools, resources and prompts may have them
  bool has_last_modified;  // in annotations
  bool has_completions;    // as a capability; the method is older
  bool has_core_tasks;     // a client asks for them; the extension is of the modern era
  int resource_not_found;  // code of the error
  bool has_result_type;    // resultType, serverInfo in _meta, cache hints
};

extern const Format k2024_11_05;
extern const Format k2025_03_26;
extern const Format k2025_06_18;
extern const Format k2025_11_25;
extern const Format k2026_07_28;

const Format& format_of(Revision revision);

// Returns null for a name this server does not know.
const Format* find_format(std::string_view name);

// Returns the revision that an initialize asking for `name` gets: that one, or the newest that has
// initialize.
const Format& negotiate(std::string_view name);

// Returns the oldest first.
std::vector<const Format*> modern_formats();

}  // namespace mcp::wire
