#include "sessions/state_shares.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "sandbox/snapshot_index.h"
#include "sessions/ground.h"
#include "sessions/session_directory.h"
#include "sessions/session_lists.h"

namespace sessions {
namespace {

constexpr std::chrono::minutes kLookMost{1};
constexpr std::int64_t kShare = 10;                // of a file system, one part
constexpr std::int64_t kSessionsLookedAt = 1'000;  // those used last
constexpr std::size_t kPrincipalsMost = 10'000;

}  // namespace

bool StateShares::has_room(const std::string& principal_id) {
  const auto now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    const auto known = looked_.find(principal_id);
    if (known != looked_.end() && now - known->second.at < kLookMost) {
      return known->second.has_room;
    }
  }
  const bool room = look(principal_id);
  const std::lock_guard lock(mutex_);
  if (looked_.size() >= kPrincipalsMost) looked_.clear();
  looked_[principal_id] = {now, room};
  return room;
}

bool StateShares::tell(const Session& session) {
  const bool room = has_room(session.principal_id);
  const std::string state = ground_.files_of(session.id).state();
  const std::string said = state + "/" + sandbox::kShareUsedUp;
  if (room) {
    (void)::unlink(said.c_str());
  } else if (::mkdir(state.c_str(), 0700) == 0 || errno == EEXIST) {
    (void)base::open_file(AT_FDCWD, said, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
  }
  return room;
}

// A file system that says nothing of its size, and sessions that cannot be listed, bound nobody.
bool StateShares::look(const std::string& principal_id) const {
  struct statvfs system {};
  if (::statvfs(ground_.config.state_directory.c_str(), &system) != 0) return true;
  const std::int64_t share = static_cast<std::int64_t>(system.f_blocks) *
                             static_cast<std::int64_t>(system.f_frsize) / kShare;
  const auto sessions = session_lists_.newest(principal_id, false, kSessionsLookedAt);
  if (!sessions.ok() || share == 0) return true;
  std::int64_t stored = 0;
  for (const Session& session : sessions.value()) {
    stored += ground_.files_of(session.id).stored_bytes();
  }
  return stored < share;
}

}  // namespace sessions
