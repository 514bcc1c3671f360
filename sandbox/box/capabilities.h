// What is left to hutch-box of root's rights once its box is there. capabilities(7), capset(2).
#pragma once

#include "sandbox/base/result.h"

namespace sandbox::box {

// Of the calling thread, and of the threads and programs that it starts from here on; others keep
// theirs. `with_quota`: a project quota is held, which only CAP_SYS_ADMIN can ask and take back. An
// ordinary user has none to give up.
base::Status keep_needed_capabilities(bool with_quota);

}  // namespace sandbox::box
