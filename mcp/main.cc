// The composition root: hands over to the command line, which builds what a command needs
// (tools/cli/application.cc) in the order store, sandbox, sessions, share, server.
#include "tools/cli/commands.h"

int main(int argc, char** argv) { return tools::cli::main(argc, argv); }
