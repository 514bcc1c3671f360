// Writes files for BoxFiles, by the ids that the thread acts with (acting_ids.h). Paths are
// absolute, and `root_fd` is the box's root, borrowed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sandbox/files/box_files.h"

namespace sandbox::files {

struct HowToWrite {
  WriteMode mode = WriteMode::kOverwrite;
  const std::optional<FileState>& expected;
  const Attributes& attributes;
};

// Does what BoxFiles::write() says.
base::Result<WriteResult> write_file(int root_fd, const std::string& path, std::string_view content,
                                     const HowToWrite& how);
// Does what BoxFiles::make_link() says.
base::Status write_link(int root_fd, const std::string& path, const std::string& text);

}  // namespace sandbox::files
