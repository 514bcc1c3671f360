// hutch-conformance-server: the protocol core with the fixtures of the conformance suite, and
// nothing of hutch's own tools. Built for tests, never installed.
#include <signal.h>
#include <sys/signalfd.h>

#include <iostream>
#include <string>

#include "mcp/http/service.h"
#include "tests/conformance/fixtures.h"

namespace {

int usage() {
  std::cerr << "usage: hutch-conformance-server --listen 127.0.0.1:PORT\n";
  return 2;
}

// Readable once the program is to end. Called before the first thread.
int watch_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  ::sigprocmask(SIG_BLOCK, &ending, nullptr);
  return ::signalfd(-1, &ending, SFD_CLOEXEC);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::string(argv[1]) != "--listen") return usage();
  const auto address = mcp::http::parse_address(argv[2]);
  if (!address || !address->is_loopback()) return usage();

  const int stop = watch_signals();
  conformance::TaskTable tasks;
  mcp::Server server({"hutch-conformance-server", "Fixtures of the conformance suite", "1", ""});
  server.on_fault([](const std::string& what) { std::cerr << what << std::endl; });
  conformance::add_content_tools(server);
  conformance::add_reporting_tools(server);
  conformance::add_asking_tools(server);
  conformance::add_input_required_tools(server);
  conformance::add_schema_tools(server);
  conformance::add_stateless_tools(server);
  conformance::add_task_tools(server, tasks);
  conformance::add_prompts(server);
  conformance::add_resources(server);

  mcp::http::ServeOptions options;
  options.address = *address;
  options.door.authenticate = [](std::string_view) { return mcp::Principal{"suite", {}}; };
  options.polled_tools = {"test_reconnection"};
  const std::string failure =
      mcp::http::serve(server, std::move(options), stop, [](mcp::http::Service& service) {
        std::cerr << "serving MCP on http://" << service.name() << "/mcp" << std::endl;
      });
  tasks.end_all();
  if (failure.empty()) return 0;
  std::cerr << "hutch-conformance-server: " << failure << std::endl;
  return 1;
}
