// Files of a session as clients write them, through whichever face.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/files/box_files.h"
#include "sessions/file_record.h"
#include "sessions/session.h"
#include "tools/tools.h"

namespace tools {

// A file that grows by appending is hashed anew each time: its hash is told up to this size.
inline constexpr std::int64_t kHashedBytesMax = 64 << 20;

// Returns the files of a session below a root of it that is open already.
sandbox::files::BoxFiles files_in(base::UniqueFd root, const sessions::Session& session);
// Starts its box where none lives; fails as Boxes::root_of() does.
base::Result<sandbox::files::BoxFiles> files_of(const Services& services,
                                                const sessions::Session& session);

// Returns the room for a file of the session that is to become so much larger, held until the file
// is written, while `services` and `session` are there; null where it needs none. kLimit: it would
// not fit. What lies in a folder of the host is not counted.
base::Result<std::shared_ptr<const void>> take_disk_room(const Services& services,
                                                         const sessions::Session& session,
                                                         const sandbox::files::BoxFiles& files,
                                                         const std::string& path,
                                                         std::int64_t bytes);

// Records what a tool has written. The record has the hash of the whole file: none when a file that
// grew by appending is larger than kHashedBytesMax, or has changed again.
base::Result<sessions::FileRecord> record_written(const Services& services,
                                                  const sessions::Session& session,
                                                  const sandbox::files::BoxFiles& files,
                                                  const sandbox::files::WriteResult& written,
                                                  const std::string& content);

// Files are written one after the other within a session, where there is room, and recorded.
struct WrittenFile {
  sandbox::files::WriteResult written;
  sessions::FileRecord record;
};
base::Result<WrittenFile> write_into(const Services& services, const sessions::Session& session,
                                     const sandbox::files::BoxFiles& files, const std::string& path,
                                     const std::string& content, sandbox::files::WriteMode mode,
                                     const sandbox::files::Attributes& attributes = {});

}  // namespace tools
