// Finds the sessions that a new connection may want to go on with.
#include <dirent.h>
#include <fcntl.h>

#include <cstring>
#include <memory>

#include "sandbox/base/fd.h"
#include "sessions/manager.h"

namespace sessions {

namespace {

// Looked at, however many there are: the first call of a connection waits for it.
constexpr std::int64_t kLookedAt = 20;
constexpr std::int64_t kEntriesCounted = 100;

void count_entries(const std::string& directory, EarlierSession& earlier) {
  base::UniqueFd fd(
      ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  // One that cannot be read has nothing to go on with.
  if (!fd.valid()) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd.release()), &::closedir);
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries.get())) {  // NOLINT: one thread
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    earlier.has_more = earlier.entries == kEntriesCounted;
    if (earlier.has_more) return;
    ++earlier.entries;
  }
}

}  // namespace

base::Result<std::vector<EarlierSession>> Manager::earlier_with_files(
    const std::string& principal_id, const std::string& than_id, std::size_t most) {
  std::vector<EarlierSession> found;
  for (Session& session : TRY(store_.newest_sessions(principal_id, false, kLookedAt))) {
    if (session.id == than_id) continue;
    EarlierSession earlier{std::move(session)};
    count_entries(directory_of(earlier.session.id) + "/workspace", earlier);
    if (earlier.entries == 0) continue;
    found.push_back(std::move(earlier));
    if (found.size() == most) break;
  }
  return found;
}

}  // namespace sessions
