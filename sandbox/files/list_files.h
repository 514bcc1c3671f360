// Lists files for BoxFiles, by the ids that the thread acts with (acting_ids.h).
#pragma once

#include <string>

#include "base/result.h"
#include "sandbox/files/box_files.h"

namespace sandbox::files {

// Does what BoxFiles::list() says of the directory at an absolute path, with options that have been
// checked. `root_fd` is the box's root, borrowed.
base::Result<ListResult> list_files(int root_fd, const std::string& path,
                                    const ListOptions& options);

}  // namespace sandbox::files
