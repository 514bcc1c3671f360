// Tells whether anything lies in a session's directory that somebody may come back for.
#pragma once

namespace sandbox::files {

// Whatever is beside what hutch and its interpreters put there by themselves: an entry in its
// workspace or home, an upload, a call, stored variables, what a shell knows, a name that is not
// known. True as well when in doubt: what cannot be looked into, is a link, lies on another mount,
// or is not there. `session_fd` is borrowed; nobody else may own the session meanwhile.
bool may_hold_something(int session_fd);

// Returns whether the newest copy of a shell's state (box/kept_shell.h) says more than a new shell
// knows: it says so of itself (runners/bash/state.sh). `state_fd` is that of the session's state.
bool holds_shell_state(int state_fd);

}  // namespace sandbox::files
