// Uploads that come in pieces and are not over: they lie beside what the code has, and count to the
// session's disk from their beginning, as much as they are to have.
//
//     uploads/upload_1a2b          what has come of it
//     uploads/upload_1a2b.json     its description: where it goes, and its length
//     uploads/upload_1a2b.placing  the description while it is put in place, and the file counts
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace sandbox {

// Says what room is asked for: an upload counts by its description from then on.
enum class RoomFor { kFile, kUpload };

inline constexpr const char* kUploadPrefix = "upload_";
inline constexpr const char* kUploadAbout = ".json";
inline constexpr const char* kUploadPlacing = ".placing";
inline constexpr const char* kUploadLength = "length_bytes";
inline constexpr std::int64_t kUploadKeptSeconds = 86'400;  // since the last piece

// Returns the description with that name in the directory of uploads.
base::Result<nlohmann::json> upload_description(int uploads_fd, const std::string& name);

struct UnfinishedUploads {
  std::size_t count = 0;
  std::int64_t bytes = 0;         // as many as they are to have
  std::int64_t placed_bytes = 0;  // the part of `bytes` whose uploads are being put in place
};
// Returns what is there and is not over its time. One whose description was never written has no
// name that begins so.
UnfinishedUploads unfinished_uploads(int uploads_fd);

}  // namespace sandbox
