// Leaves hutch-box only the rights of root that it needs once its box is there. capabilities(7),
// capset(2).
#pragma once

#include "base/result.h"

namespace sandbox::box {

// Drops the other capabilities from the calling thread, and so from the threads and programs that
// it starts from here on; other threads keep theirs. `with_quota`: a project quota is held, which
// only CAP_SYS_ADMIN can ask and take back. An ordinary user has none to give up.
base::Status keep_needed_capabilities(bool with_quota);

}  // namespace sandbox::box
