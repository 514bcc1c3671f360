// install_packages: needs a network, which sessions of this version do not have.
#include <nlohmann/json.hpp>

#include "tools/tool_kit.h"

namespace tools {

mcp::Tool install_tool(const Services& services) {
  Definition definition{
      "install_packages",
      "Install packages",
      "Installs packages into the session, where its network policy allows.",
      {{.name = "packages", .type = Argument::Type::kStringList, .required = true, .most = 100},
       session_argument(),
       {.name = "manager", .description = "default pip", .values = {"pip", "npm"}}},
      object_schema({{"session_id", "string"}, {"run_id", "string"}, {"status", "string"}},
                    {"session_id", "run_id", "status"}),
      {.read_only = false, .destructive = false, .idempotent = true}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        // No box is started only to say no.
        const std::string whose =
            arguments.has("session_id")
                ? "session " + TRY(session_for(services, arguments, context)).id
                : std::string("this connection's session");
        return base::error(
            base::Error::Kind::kUnsupported,
            "the network policy of " + whose +
                " allows nothing (network: {allow: []}), so no package index can be reached. Use "
                "what is "
                "installed on the host (in run_code: import importlib.metadata; sorted(d.name for "
                "d in "
                "importlib.metadata.distributions())), or write the package's files into "
                "/workspace with write_file.");
      });
}

}  // namespace tools
