// Every tool is made with these: a table of arguments, a handler, and one way to say it failed.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "base/json_value.h"
#include "mcp/prompts.h"
#include "mcp/tool.h"
#include "tools/arguments.h"
#include "tools/tools.h"

namespace tools {

// Bytes of the images of one result together. As base64 they are within the 1 MiB beyond which some
// clients refuse a result, or end their connection.
inline constexpr std::int64_t kImagesBytesMax = 750'000;

struct Reply {
  base::JsonValue structured;
  std::string text;                                 // says as much, for readers
  base::JsonValue more = base::JsonValue::array();  // further content blocks
  std::string new_session_id = {};  // a new session's, that the client must be told or loses
  std::optional<mcp::Task> task = std::nullopt;  // instead of all that: it goes on as one
};

// Adds to what the result says beside its data.
void add_note(Reply& reply, const std::string& note);

// Has the names of the members of an answer that are there whatever they say.
using RequiredMembers = std::set<std::string, std::less<>>;

// Leaves out members that say nothing: null, false and what is empty, but for those that are
// required. Data that code has given stays as it is.
void leave_out_silent(nlohmann::json& structured, const RequiredMembers& required);

struct Hints {
  bool read_only = false;
  bool destructive = false;
  bool idempotent = false;
};

struct Definition {
  const char* name;
  const char* title;
  const char* description;
  std::vector<Argument> arguments;
  base::JsonValue output_schema;
  Hints hints;
  mcp::TaskSupport tasks = mcp::TaskSupport::kForbidden;
  base::JsonValue meta = nullptr;  // _meta; null: none
};

using Handler = std::function<base::Result<Reply>(const Arguments&, mcp::CallContext&)>;

// Checks the arguments, calls the handler, turns an Error into a result with isError. The first
// result of a connection's default session says which one that is, and which earlier ones there
// are.
mcp::Tool make_tool(const Services& services, const Definition& definition, Handler handler);

mcp::ToolResult to_tool_result(Reply reply);

// Returns an object schema from pairs of name and type; those in `required` always come.
nlohmann::json object_schema(std::initializer_list<std::pair<const char*, const char*>> members,
                             std::vector<std::string> required);

// Rows used by several tools.
Argument session_argument();
Argument path_argument(const char* description);

// Each file of tools has one function.
std::vector<mcp::Tool> run_tools(const Services& services);
std::vector<mcp::Tool> file_tools(const Services& services);
mcp::Tool edit_file(const Services& services);
mcp::Tool share_tool(const Services& services);
mcp::Tool share_port(const Services& services);
mcp::Tool install_tool(const Services& services);
std::vector<mcp::Tool> session_tools(const Services& services);
std::vector<mcp::Prompt> prompts(const Services& services);

inline constexpr std::size_t kPageSize = 100;

// Returns where the page of a cursor begins, which is the decimal number of its first item; nothing
// for what no page has given. Empty: the first.
std::optional<std::size_t> offset_of_page(const std::string& cursor, std::size_t page_size);

// Ids and names of the principal's sessions that begin like this.
mcp::Completion complete_session_id(const Services& services, const std::string& value,
                                    const std::string& principal_id);

}  // namespace tools
