#include "sessions/run_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sessions/session_directory.h"

namespace sessions {

base::Result<base::UniqueFd> RunFiles::open(const std::string& session_id,
                                            const std::string& run_id,
                                            const std::string& name) const {
  const std::string directory = SessionDirectory(state_directory_, session_id).run(run_id);
  const base::UniqueFd run =
      TRY(base::open_file(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  auto file = base::open_file(run.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const bool is_stream = name == "stdout" || name == "stderr";
  // Made with the first byte.
  if (!file.ok() && is_stream && file.error().os_errno == ENOENT) return base::UniqueFd();
  return file;
}

base::Result<std::string> RunFiles::read(const std::string& session_id, const std::string& run_id,
                                         const std::string& name, std::int64_t offset,
                                         std::size_t size) const {
  const base::UniqueFd file = TRY(open(session_id, run_id, name));
  return file.valid() ? base::read_at(file.get(), offset, size) : std::string();
}

base::Result<std::string> RunFiles::read_stream(const std::string& session_id,
                                                const std::string& run_id, const std::string& name,
                                                std::int64_t& offset, std::size_t size) const {
  const base::UniqueFd file = TRY(open(session_id, run_id, name));
  if (!file.valid()) return std::string();
  // In place of what a terminal's stream has forgotten there is a hole.
  if (const off_t kept = ::lseek(file.get(), offset, SEEK_DATA); kept > offset) offset = kept;
  const off_t hole = ::lseek(file.get(), offset, SEEK_HOLE);
  if (hole > offset) size = std::min(size, static_cast<std::size_t>(hole - offset));
  return base::read_at(file.get(), offset, size);
}

}  // namespace sessions
