// Folders of the host on their way into the box, for build_root() alone. Each function ends the
// process through fail() when it does not succeed completely.
#pragma once

#include "sandbox/wire/plan_format.h"

namespace sandbox::init {

// Returns the next mount that hutch-box has sent: as root it makes those of host folders, with the
// rights that are needed to give their files another owner.
int receive_mount();

// Carries out kProtect or kBlock. `folder` is where the folder is mounted by now, `null_device`
// where a copy of the host's /dev/null is.
void cover_in_folder(const wire::PlanRecord& record, const char* folder, const char* null_device);

}  // namespace sandbox::init
