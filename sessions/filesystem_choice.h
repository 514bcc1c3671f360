// Folders of the host and path rules of a session: what a client may ask for, what is kept of that
// in its row, and what the operator's grants make of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/host_folder.h"
#include "sandbox/path_rules.h"
#include "sessions/grants.h"

namespace sessions {

// A FilesystemWish holds a client's words. Each entry is a folder below /mnt, a path in one, or a
// path of the session's own tree; nothing: the list was not given, which an empty one is.
struct FilesystemWish {
  std::optional<std::vector<std::string>> read_only = {};
  std::optional<std::vector<std::string>> read_write = {};
  std::optional<std::vector<std::string>> blocked = {};

  [[nodiscard]] bool empty() const { return !read_only && !read_write && !blocked; }
};

// Returns nothing when the wish says nothing, and the session has what is granted unasked. kInvalid
// says what is not granted, and how whoever runs hutch can grant it.
base::Result<std::optional<std::vector<sandbox::HostFolder>>> choose_folders(
    const FilesystemWish& wish, const GrantedFolders& granted);

// Returns the rules for paths of the session's own tree. kInvalid says what is wrong with which.
base::Result<sandbox::PathRules> choose_paths(const FilesystemWish& wish);

// FoldersNow has the folders of a choice that are granted now; `note` tells of each that is not, or
// is less.
struct FoldersNow {
  std::vector<sandbox::HostFolder> folders;
  std::string note;
};
FoldersNow granted_now(const std::optional<std::vector<sandbox::HostFolder>>& choice,
                       const GrantedFolders& granted);

}  // namespace sessions
