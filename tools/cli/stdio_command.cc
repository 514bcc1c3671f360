// hutch stdio: serves one MCP client on standard input and output.
#include <fcntl.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "base/random_id.h"
#include "mcp/stdio_transport.h"
#include "sessions/manager_config.h"
#include "sessions/session_options.h"
#include "sessions/sessions.h"
#include "tools/cli/commands.h"
#include "tools/cli/ending_signals.h"
#include "tools/cli/own_command.h"
#include "tools/cli/server_log.h"
#include "tools/tools.h"

namespace tools::cli {

using base::Error;

base::Result<int> run_stdio(Application& app, const std::string& session_name) {
  mcp::Server server({"hutch", "hutch", HUTCH_VERSION, instructions(app.services().config)});
  const auto& share_directory = app.settings().share_directory;
  if (!share_directory) {
    spdlog::warn(
        "HOME is not set: shared files stay in {}/shared; --share-dir names a folder for them",
        app.settings().state_directory);
  }
  const share::ShareFolder folder(share_directory.value_or(""), app.settings().user_umask);
  Services services{app.services(), app.share(), session_name};
  services.public_url = [&app] { return app.settings().serve.public_url; };
  services.folder = &folder;
  services.command = own_command(app.settings(), process_environment());
  const Offer offer(server, services);
  log_events_of(server);

  if (!session_name.empty()) {
    // A box that waits for a server waits no longer. None there: the first use starts one.
    const auto session = app.services().sessions.find(app.principal_id(), session_name);
    if (session.ok()) {
      (void)app.sandbox().find(session.value().id);
    } else {
      TRY(sessions::check_session_name(session_name));
    }
  }

  const base::UniqueFd signals = TRY(ending_signals());

  // Whatever prints to standard output by mistake must not reach the client.
  const base::UniqueFd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!out.valid() || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return Error::from_errno("set standard output aside");
  }
  mcp::StdioOptions options;
  options.out_fd = out.get();
  options.stop_fd = signals.get();
  options.connection_id = base::random_id("connection_");
  options.principal.id = app.principal_id();
  spdlog::info("serving MCP on standard input and output, state in {}",
               app.settings().state_directory);
  mcp::serve_stdio(server, options);
  // The boxes hear of it as they would of a kill: the connections to them close.
  spdlog::info("the client has ended the connection");
  return 0;
}

}  // namespace tools::cli
