// A user namespace that only says which ids are shown as which, for mount_setattr(2).
#pragma once

#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"

namespace sandbox::box {

struct Ids {
  uid_t uid;
  gid_t gid;
};

// Maps this one user and group of a file system to those. Needs CAP_SETUID and CAP_SETGID; one
// thread. No process of it is left.
base::Result<base::UniqueFd> make_id_namespace(const Ids& stored, const Ids& shown);

}  // namespace sandbox::box
