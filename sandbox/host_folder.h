// Folders of the host that the person who starts hutch grants to sessions; code sees them as
// /mnt/NAME. What may be granted is in host_places.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace sandbox {

inline constexpr std::size_t kHostFoldersMax = 16;
inline constexpr std::size_t kBlockedPathsMax = 16;  // in one folder

struct HostFolder {
  std::string name;  // its entry in /mnt
  std::string path;  // on the host: absolute, without a link in it
  bool writable = false;
  std::vector<std::string> blocked;  // below it, relative: read as empty
  // Both say which directory it was when it was looked at: what is mounted is that one or none.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const HostFolder&, const HostFolder&) = default;
};

// Returns "/mnt/NAME".
std::string place_of(const HostFolder& folder);

// Fails with kInvalid, which says what a name may be: /mnt/data is another place of every box.
base::Status check_folder_name(const std::string& name);

// Each reads a folder as --mount and [mounts] give it: "PATH", "PATH:ro" or "PATH:rw", for --mount
// also with "NAME=" in front. The name is the last component where there is none. Device and inode
// stay 0.
base::Result<HostFolder> parse_folder(const std::string& text);
base::Result<HostFolder> parse_folder(const std::string& name, const std::string& path_and_mode);

nlohmann::json folders_to_json(const std::vector<HostFolder>& folders);
// Anything that is not as folders_to_json() makes it is kInvalid.
base::Result<std::vector<HostFolder>> folders_from_json(const nlohmann::json& value);

}  // namespace sandbox
