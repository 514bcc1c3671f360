// Folders into sessions, and out of them, file by file: what cannot be copied is told, and the rest
// is there.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sandbox/files/box_files.h"

namespace tools::cli {

struct FolderCopied {
  bool is_whole = true;  // else the rest was told on standard error
};

// Into `target`, which is made. Names come from the session: nothing below `target` is followed
// that is a link, and what is at a name that is to be a file is replaced, not written to.
base::Result<FolderCopied> copy_folder_out(const sandbox::files::BoxFiles& files,
                                           const std::string& path, const std::string& target,
                                           mode_t umask);

// Puts one file of this machine at a path of the session.
using PutFile = std::function<base::Status(const std::string& source, const std::string& path)>;
// `path` is absolute. Links lead nowhere there, and are left out.
base::Result<FolderCopied> copy_folder_in(const sandbox::files::BoxFiles& files,
                                          const std::string& source, const std::string& path,
                                          const PutFile& put);

using Sink = std::function<base::Status(std::string_view piece)>;
base::Status pour(int from, const Sink& sink);
base::Status pour(int from, int to);

}  // namespace tools::cli
