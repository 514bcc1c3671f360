#include "tools/mcp/tool_kit.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/full_disk.h"
#include "base/json.h"
#include "base/text.h"
#include "mcp/message.h"
#include "sandbox/files/box_path.h"
#include "sandbox/host_capacity.h"
#include "sandbox/output.h"
#include "sessions/boxes.h"
#include "sessions/file_table.h"
#include "sessions/manager_config.h"
#include "sessions/session.h"
#include "sessions/session_directory.h"
#include "sessions/slow_start.h"
#include "tools/log_members.h"
#include "tools/advice.h"
#include "tools/mcp/call_session.h"
#include "tools/scopes.h"
#include "tools/text_window.h"

namespace tools {

using nlohmann::json;

namespace {

json text_block(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

mcp::ToolResult failure(const base::Error& error) {
  mcp::ToolResult result;
  result.is_error = true;
  result.content->push_back(text_block(one_line(to_utf8(error.message))));
  if (error.kind == base::Error::Kind::kCapacity) {
    result.meta = json{{mcp::kRetryAfter, sandbox::kCapacityRetryAfter.count()}};
  }
  return result;
}

// A result says what its call was about, and the line has it as members.
void note_members(const Reply& reply) {
  if (reply.task) LogMembers::set("run", reply.task->id);
  for (const auto& [member, key] : {std::pair{"session", "session_id"}, {"run", "run_id"}}) {
    LogMembers::set(member, base::string_or(*reply.structured, key));
  }
}

// `error` is why the call failed; null: it did not.
void log_call(const char* tool, const base::Error* error,
              std::chrono::steady_clock::time_point came) {
  const auto took = std::chrono::steady_clock::now() - came;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  if (error == nullptr) return spdlog::info("tool {} {} ms", tool, ms);
  using Kind = base::Error::Kind;
  const bool is_ours = base::is_full_disk(*error) || error->kind == Kind::kUnavailable ||
                       error->kind == Kind::kInternal;
  if (is_ours) {
    return spdlog::warn("tool {} {} ms: {}", tool, ms, one_line(to_utf8(error->message)));
  }
  spdlog::info("tool {} {} ms: refused", tool, ms);
}

bool is_silent(const json& value) {
  if (const auto* text = value.get_ptr<const std::string*>()) return text->empty();
  if (const auto* flag = value.get_ptr<const bool*>()) return !*flag;
  return value.is_null() || (value.is_structured() && value.empty());
}

bool is_form(std::string_view name) {
  return std::any_of(std::begin(sandbox::kFormats), std::end(sandbox::kFormats),
                     [name](const sandbox::Format& format) { return format.name == name; });
}

// Returns the names that are required of at least one of the forms that a result may have.
RequiredMembers required_by(const json& schema) {
  if (!schema.is_object()) return {};
  RequiredMembers names = schema.value("required", RequiredMembers());
  for (const json& form : schema.value("anyOf", json::array())) {
    names.merge(required_by(form));
  }
  return names;
}

// `name` is that of the member that `value` is, or is an entry of.
void leave_out(json& value, const RequiredMembers& kept, std::string_view name) {
  if (value.is_array()) {
    for (json& entry : value) leave_out(entry, {}, name);
  }
  if (!value.is_object()) return;
  for (auto member = value.begin(); member != value.end();) {
    // The forms of an output are the code's own data, in which nothing is silent.
    if (name == "outputs" && is_form(member.key())) {
      ++member;
      continue;
    }
    leave_out(*member, {}, member.key());
    member = is_silent(*member) && !kept.contains(member.key()) ? value.erase(member)
                                                                : std::next(member);
  }
}

// Tells with a failure, too, what became of its arguments: it may be why.
base::Error with_note(base::Error error, const std::string& note) {
  if (!note.empty()) base::append_part(error.message, note, "; ");
  return error;
}

// Adds to a reply what it lacks, and returns it as MCP has it.
mcp::ToolAnswer whole_answer(const Services& services, const Arguments& arguments,
                             mcp::CallContext& context, const RequiredMembers& required,
                             Reply reply) {
  const std::string note = arguments.told_of_halves();
  if (reply.task) {
    if (!note.empty()) base::append_part(reply.task->message, note, "; ");
    return std::move(*reply.task);
  }
  if (!note.empty()) add_note(reply, note);
  if (const std::string& id = reply.new_session_id; !id.empty()) {
    reply.structured["session_id"] = id;
    reply.text.insert(0, "New session " + id + ": pass it as session_id to go on in it.\n");
  }
  if (!arguments.has("session_id")) introduce(services, context, reply);
  leave_out_silent(*reply.structured, required);
  return to_tool_result(std::move(reply));
}

}  // namespace

void leave_out_silent(json& structured, const RequiredMembers& required) {
  leave_out(structured, required, "");
}

void add_note(Reply& reply, const std::string& note) {
  std::string notes = reply.structured->value("note", "");
  base::append_part(notes, note, "; ");
  reply.structured["note"] = notes;
  reply.text += (reply.text.ends_with('\n') ? "note: " : "\nnote: ") + note + "\n";
}

mcp::Tool make_tool(const Services& services, const Definition& definition, Handler handler) {
  mcp::Tool tool;
  tool.name = definition.name;
  tool.title = definition.title;
  tool.description = definition.description;
  tool.input_schema = schema_of(definition.arguments);
  tool.output_schema = definition.output_schema;
  tool.annotations = json{{"title", definition.title},
                          {"readOnlyHint", definition.hints.read_only},
                          {"destructiveHint", definition.hints.destructive},
                          {"idempotentHint", definition.hints.idempotent},
                          {"openWorldHint", false}};
  tool.task_support = definition.tasks;
  tool.meta = definition.meta;
  tool.call = [services, name = definition.name, table = definition.arguments,
               required = required_by(definition.output_schema),
               read_only = definition.hints.read_only, handler = std::move(handler)](
                  const json& given, mcp::CallContext& context) -> mcp::ToolAnswer {
    if (!read_only && !may_change(context.principal().scopes)) {
      return failure(base::error(base::Error::Kind::kInvalid, kMayOnlyRead));
    }
    const auto arguments = check_arguments(table, given);
    if (!arguments.ok()) return failure(arguments.error());
    // Progress grows: what comes before the run counts up to where the run's begins.
    const sessions::SlowStart slow_start([&context](double done, const std::string& what) {
      context.report_progress(done - 1, std::nullopt, what);
    });
    const LogMembers members;
    LogMembers::set("principal", context.principal().id);
    LogMembers::set("tool", name);
    LogMembers::set("request_id", context.request_id());
    auto reply = handler(arguments.value(), context);
    if (!reply.ok()) {
      log_call(name, &reply.error(), context.received_at());
      const std::string note = arguments.value().told_of_halves();
      return failure(with_note(with_own_way(reply.error(), services.config.folders), note));
    }
    note_members(reply.value());
    auto answer =
        whole_answer(services, arguments.value(), context, required, std::move(reply).value());
    log_call(name, nullptr, context.received_at());
    return answer;
  };
  return tool;
}

mcp::ToolResult to_tool_result(Reply reply) {
  mcp::ToolResult result;
  result.content->push_back(text_block(reply.text));
  for (json& block : *reply.more) result.content->push_back(std::move(block));
  result.structured_content = std::move(reply.structured);
  return result;
}

std::optional<std::size_t> offset_of_page(const std::string& cursor, std::size_t page_size) {
  if (cursor.empty()) return 0;
  constexpr std::size_t kMost = 1'000'000'000;
  const auto offset = base::number_of<std::size_t>(cursor);
  if (!offset || *offset == 0 || *offset > kMost || *offset % page_size != 0) return std::nullopt;
  return offset;
}

json object_schema(std::initializer_list<std::pair<const char*, const char*>> members,
                   std::vector<std::string> required) {
  json properties = json::object();
  for (const auto& [name, type] : members) {
    const std::string text = type;
    if (text.ends_with("?")) {
      properties[name] = {{"type", {text.substr(0, text.size() - 1), "null"}}};
    } else {
      properties[name] = {{"type", text}};
    }
  }
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", required}};
}

Argument session_argument() {
  return {.name = "session_id",
          .description = "id or name; default: this connection's session",
          .most = 200};
}

Argument path_argument(const char* description) {
  return {.name = "path", .required = true, .description = description, .least = 1, .most = 4096};
}

}  // namespace tools
