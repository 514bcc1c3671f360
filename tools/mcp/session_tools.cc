// create_session, list_sessions, pause_session, resume_session, delete_session.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/shortened_text.h"
#include "sandbox/box_spec.h"
#include "sessions/quotas_in_force.h"
#include "sessions/session_options.h"
#include "sessions/session_state.h"
#include "sessions/session_states.h"
#include "sessions/sessions.h"
#include "tools/mcp/tool_kit.h"
#include "tools/session_view.h"
#include "tools/session_wishes.h"
#include "tools/text_window.h"

namespace tools {

using base::Error;
using nlohmann::json;

namespace {

json session_schema() {
  return object_schema({{"session_id", "string"},
                        {"name", "string"},
                        {"status", "string"},
                        {"tier", "string"},
                        {"template", "string"},
                        {"created_at", "string"},
                        {"last_used_at", "string"},
                        {"ends_at", "string"},
                        {"limits", "object"},
                        {"enforcement", "object"},
                        {"network", "object"},
                        {"filesystem", "object"},
                        {"isolation", "object"},
                        {"working_directory", "string"},
                        {"active_runs", "array"},
                        {"note", "string"}},
                       {"session_id", "status", "created_at", "limits", "active_runs"});
}

Argument required_session() {
  Argument row = session_argument();
  row.required = true;
  row.description = "id or name";
  row.least = 1;
  return row;
}

Reply reply_of(json session) {
  Reply reply;
  reply.text = text_of_session(session, Detail::kUnusual);
  reply.structured = std::move(session);
  return reply;
}

Reply reply_of(const sessions::SessionState& state) { return reply_of(structured_session(state)); }

mcp::Tool create_session(const Services& services) {
  Definition definition{
      "create_session",
      "Create a session",
      "Makes another computer with its own files and interpreters.",
      {{.name = "name", .most = 100},
       {.name = "template",
        .description = "packages: code_interpreter, host or another built here",
        .most = 100},
       {.name = "lifetime_seconds",
        .type = Argument::Type::kInteger,
        .description = "hard end; default none",
        .least = 1,
        .most = 365LL * 86400},
       {.name = "limits",
        .type = Argument::Type::kObject,
        .description = "memory_mb, cpus, processes, disk_mb, files, open_files, run_seconds, "
                       "output_mb"},
       {.name = "network",
        .type = Argument::Type::kObject,
        .description = "allow: hosts; credentials: names; block_outbound"},
       {.name = "filesystem",
        .type = Argument::Type::kObject,
        .description = "read_only, read_write: folders of /mnt or /workspace; blocked: paths"},
       {.name = "env",
        .type = Argument::Type::kStringMap,
        .description = "for all its runs",
        .most = 200,
        .is_content = true}},
      session_schema(),
      {}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        sessions::SessionOptions options;
        options.connection_id = context.connection_id();
        options.name = arguments.text("name");
        options.template_name = arguments.text("template");
        options.lifetime_seconds = arguments.find_integer("lifetime_seconds");
        if (arguments.has("limits")) {
          const sessions::Quotas quotas = services.quotas.now();
          options.limits = TRY(sandbox::limits_from_json(
              arguments.object("limits"), quotas.default_limits, quotas.most_limits));
        }
        if (arguments.has("filesystem")) {
          options.filesystem = TRY(filesystem_wish(arguments.object("filesystem")));
        }
        if (arguments.has("network")) {
          options.network = TRY(network_wish(arguments.object("network")));
        }
        options.env = arguments.map("env");
        TRY(check_environment(options.env));
        return reply_of(TRY(services.sessions.create(context.principal().id, options)));
      });
}

mcp::Tool list_sessions(const Services& services) {
  Definition definition{
      "list_sessions",
      "List sessions",
      "Your sessions and their active runs.",
      {{.name = "status",
        .description = "default: all but destroyed",
        .values = {"provisioning", "ready", "running", "paused", "stored", "stopped", "destroyed",
                   "error"}}},
      object_schema({{"sessions", "array"}, {"truncated", "boolean"}}, {"sessions"}),
      {.read_only = true, .destructive = false, .idempotent = true}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        std::optional<sessions::SessionStatus> status;
        if (arguments.has("status")) {
          status = sessions::find_session_status(arguments.text("status"));
        }
        const auto listed = TRY(services.states.list(context.principal().id, status));
        const std::vector<sessions::SessionState>& states = *listed;
        Reply reply;
        json shown = json::array();
        std::size_t characters = 0;
        for (const sessions::SessionState& state : states) {
          json session = structured_in_list(state);
          const std::string text = text_of_session(session, Detail::kNone);
          leave_out_silent(session, {});
          characters += session.dump().size() + 1;
          if (characters > kListCharacters) break;
          reply.text += text;
          shown.push_back(std::move(session));
        }
        const bool truncated = shown.size() < states.size();
        reply.text = std::to_string(states.size()) +
                     (states.size() == 1 ? " session" : " sessions, the last used first") +
                     (truncated ? ", shown are " + std::to_string(shown.size()) : "") + "\n" +
                     reply.text;
        reply.structured = json{{"sessions", std::move(shown)}, {"truncated", truncated}};
        return reply;
      });
}

mcp::Tool pause_session(const Services& services) {
  Definition definition{"pause_session",
                        "Pause a session",
                        "Stores its variables or freezes its processes. Any use wakes it.",
                        {required_session()},
                        session_schema(),
                        {.read_only = false, .destructive = false, .idempotent = true}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        const auto state =
            TRY(services.sessions.pause(context.principal().id, arguments.text("session_id")));
        return reply_of(structured_pause(state));
      });
}

mcp::Tool resume_session(const Services& services) {
  Definition definition{
      "resume_session",          "Resume a session",
      "Wakes a paused session.", {required_session()},
      session_schema(),          {.read_only = false, .destructive = false, .idempotent = true}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        return reply_of(
            TRY(services.sessions.resume(context.principal().id, arguments.text("session_id"))));
      });
}

mcp::Tool delete_session(const Services& services) {
  Definition definition{
      "delete_session",
      "Delete a session",
      "Ends a session and deletes its files; shared files stay.",
      {required_session()},
      object_schema({{"session_id", "string"}, {"status", "string"}}, {"session_id", "status"}),
      {.read_only = false, .destructive = true, .idempotent = false}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        const auto session =
            TRY(services.sessions.find(context.principal().id, arguments.text("session_id")));
        TRY(services.sessions.destroy(context.principal().id, session.id));
        Reply reply;
        reply.structured = json{{"session_id", session.id}, {"status", "destroyed"}};
        reply.text = session.id + " destroyed";
        return reply;
      });
}

}  // namespace

std::vector<mcp::Tool> session_tools(const Services& services) {
  return {create_session(services), list_sessions(services), pause_session(services),
          resume_session(services), delete_session(services)};
}

}  // namespace tools
