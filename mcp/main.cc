// The composition root: hands over to the command line, which builds what a command needs
// (tools/cli/application.cc) in the order sandbox, store, share, sessions.
#include "tools/cli/commands.h"

int main(int argc, char** argv) { return tools::cli::main(argc, argv); }
