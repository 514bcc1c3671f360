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

// Both copy links that say how to go from where they lie to something else in the folder. Others
// are left out, which is told.

// Copies into `target`, which is made. Names come from the session: nothing below `target` is
// followed that is a link, and what is at a name that is to be a file is replaced, not written to.
base::Result<FolderCopied> copy_folder_out(const sandbox::files::BoxFiles& files,
                                           const std::string& path, const std::string& target,
                                           mode_t umask);

// Puts one file of this machine at a path of the session.
using PutFile = std::function<base::Status(const std::string& source, const std::string& path)>;
// `path` is absolute.
base::Result<FolderCopied> copy_folder_in(const sandbox::files::BoxFiles& files,
                                          const std::string& source, const std::string& path,
                                          const PutFile& put);

// Returns whether a link that lies at `name` below the top of a folder and says `text` leads to
// something below it, too, as far as all links there do: in it ".." stands in front alone.
bool stays_below(const std::string& name, const std::string& text);

using Sink = std::function<base::Status(std::string_view piece)>;
base::Status pour(int from, const Sink& sink);
base::Status pour(int from, int to);

}  // namespace tools::cli
