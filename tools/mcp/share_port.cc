// share_port.
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "sessions/boxes.h"
#include "sessions/session.h"
#include "sessions/session_tokens.h"
#include "tools/mcp/call_session.h"
#include "tools/mcp/tool_kit.h"
#include "tools/ports/link.h"

namespace tools {

using nlohmann::json;

namespace {

constexpr std::int64_t kPortMax = 65535;
constexpr std::int64_t kExpirySecondsDefault = 86400;
constexpr std::int64_t kExpirySecondsMax = std::int64_t{30} * 86400;

// Where no server is reached by links, the person at this machine can open it.
void tell_how_to_forward(Reply& reply, const std::string& hutch, const std::string& session_id,
                         std::int64_t port) {
  const std::string command = hutch + " forward " + session_id + " " + std::to_string(port);
  reply.structured["command"] = command;
  reply.text = "something listens on port " + std::to_string(port) +
               "; the user reaches it with this command on their machine: " + command;
}

base::Result<Reply> reply_of(const Services& services, const sessions::Session& session,
                             std::uint16_t port, std::int64_t seconds) {
  Reply reply;
  reply.structured = json{{"session_id", session.id}, {"port", port}};
  const std::string base_url = services.public_url ? services.public_url() : "";
  if (base_url.empty()) {
    tell_how_to_forward(reply, services.command, session.id, port);
    return reply;
  }
  const auto url = ports::host_url(base_url, session.id, port);
  if (!url) {
    const std::string path = base_url + "/ports/" + session.id + "/" + std::to_string(port) + "/";
    reply.structured["url"] = path;
    reply.text = "for programs with a token of this server: " + path +
                 " (people could open it if the server was reached by a name: public_url)";
    return reply;
  }
  const std::int64_t until_s = base::now_ms() / 1000 + seconds;
  const std::string access = TRY(services.tokens.port_token_of(session.id, port, until_s));
  const std::string link = *url + "?" + ports::kAccessParameter + "=" + access;
  const std::string expires = base::to_rfc3339(until_s * 1000);
  reply.structured["url"] = link;
  reply.structured["expires_at"] = expires;
  reply.text = "for people: " + link + "\nwhoever has the link may use it until " + expires;
  return reply;
}

}  // namespace

mcp::Tool share_port(const Services& services) {
  const Definition definition{"share_port",
                              "Share a port",
                              "Gives the user a link to a server that runs in the session.",
                              {{.name = "port",
                                .type = Argument::Type::kInteger,
                                .required = true,
                                .description = "where it listens",
                                .least = 1,
                                .most = kPortMax},
                               session_argument(),
                               {.name = "expires_in_seconds",
                                .type = Argument::Type::kInteger,
                                .description = "default 86400",
                                .least = 1,
                                .most = kExpirySecondsMax}},
                              object_schema({{"session_id", "string"},
                                             {"port", "integer"},
                                             {"url", "string"},
                                             {"command", "string"},
                                             {"expires_at", "string"}},
                                            {"session_id", "port"}),
                              {.read_only = false, .destructive = false, .idempotent = true}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        const sessions::Session session =
            TRY(resolve(services, arguments, context, NewSession::kUseless)).session;
        const auto port = static_cast<std::uint16_t>(arguments.integer("port", 0));
        if (ports::is_port_of_ours(port)) {
          return base::error(base::Error::Kind::kInvalid,
                             "port " + std::to_string(port) +
                                 " has another meaning in links: let the server listen elsewhere");
        }
        if (const auto there = services.boxes.connect(session, port); !there.ok()) {
          if (there.error().kind != base::Error::Kind::kNotFound) return there.error();
          return base::error(
              base::Error::Kind::kNotFound,
              there.error().message + ": start a server with run_code and background: true");
        }
        return reply_of(services, session, port,
                        arguments.integer("expires_in_seconds", kExpirySecondsDefault));
      });
}

}  // namespace tools
