// An entry of a directory as envd's filesystem.EntryInfo has it.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "sandbox/files/box_files.h"

namespace tools::api::e2b {

// Names of extended attributes that envd keeps a file's metadata in begin so.
inline constexpr const char* kMetadataPrefix = "user.e2b.";

// Counts the room that an answer has for metadata: that of entries beyond it is left out.
struct MetadataRoom {
  std::size_t bytes_left = std::size_t{1} << 20;
};

// Returns the entry at `path`, links followed, as get_info has it.
base::Result<nlohmann::json> entry_at(const sandbox::files::BoxFiles& files,
                                      const std::string& path);
base::Result<nlohmann::json> entry_at(const sandbox::files::BoxFiles& files,
                                      const std::string& path, MetadataRoom& room);

// Returns an entry that was listed, which costs no further look but at its metadata.
nlohmann::json listed_entry(const sandbox::files::BoxFiles& files,
                            const sandbox::files::ListEntry& listed, MetadataRoom& room);

}  // namespace tools::api::e2b
