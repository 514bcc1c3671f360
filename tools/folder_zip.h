// A folder of a session as one file for people: zip, by minizip.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/files/box_files.h"

namespace tools {

struct FolderZip {
  base::UniqueFd file;  // without a name, open for reading
  std::int64_t bytes = 0;
  std::string filename;       // "project.zip"
  std::int64_t left_out = 0;  // links, what cannot be read, names that a zip file cannot have
  std::vector<std::string> names_left_out;  // the first few, in the folder, as they are shown
};

struct ZipBounds {
  std::int64_t content_bytes = 0;
  std::int64_t zip_bytes = 0;
};

// Its regular files, with the modes they have, and its directories. The file takes room in
// `directory` until it is closed. kLimit: it has more entries than are listed at once, or more
// bytes than `bounds`, or the host has little room. kUnavailable: `gone`.
base::Result<FolderZip> zip_folder(const sandbox::files::BoxFiles& files, const std::string& path,
                                   const std::string& directory, const ZipBounds& bounds,
                                   const std::stop_token& gone);

// Tells whoever gets it: "3 entries are not in it: ..."; empty: all are.
std::string told_of_left_out(const FolderZip& zip);
// Names these: " (a, b and 1 more)"; empty: there are none.
std::string named_left_out(const FolderZip& zip);

}  // namespace tools
