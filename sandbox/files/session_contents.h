// Whether anything lies in a session's directory that somebody may come back for.
#pragma once

namespace sandbox::files {

// Whatever is beside what hutch and its interpreters put there by themselves: an entry in its
// workspace or home, an upload, a call, stored variables, a name that is not known. True as well
// when in doubt: what cannot be looked into, is a link, lies on another mount, or is not there.
// `session_fd` is borrowed; nobody else may own the session meanwhile.
bool may_hold_something(int session_fd);

}  // namespace sandbox::files
