#include "sessions/state_shares.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/snapshot_index.h"
#include "sessions/ground.h"
#include "sessions/session_directory.h"
#include "sessions/session_lists.h"
#include "sessions/store_file.h"

namespace sessions {
namespace {

constexpr std::int64_t kShare = 10;  // a file system has so many
constexpr std::size_t kPrincipalsMost = 10'000;

}  // namespace

bool StateShares::has_room(const std::string& principal_id) {
  const auto now = Clock::now();
  StoredById before;
  {
    const std::lock_guard lock(mutex_);
    const auto known = looked_.find(principal_id);
    if (known != looked_.end() && now - known->second.at < look_most_) {
      return known->second.has_room;
    }
    if (known != looked_.end()) {
      known->second.at = now;  // others go by the last look meanwhile
      before = std::exchange(known->second.sessions, {});
    }
  }
  Looked found = look(principal_id, before);
  found.at = now;
  const bool room = found.has_room;
  const std::lock_guard lock(mutex_);
  if (looked_.size() >= kPrincipalsMost) looked_.clear();
  looked_[principal_id] = std::move(found);
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
StateShares::Looked StateShares::look(const std::string& principal_id,
                                      const StoredById& before) const {
  Looked looked;
  struct statvfs system {};
  if (::statvfs(ground_.config.state_directory.c_str(), &system) != 0) return looked;
  const std::int64_t share = static_cast<std::int64_t>(system.f_blocks) *
                             static_cast<std::int64_t>(system.f_frsize) / kShare;
  if (share == 0) return looked;
  const auto stored = stored_bytes(principal_id, before, looked.sessions);
  looked.has_room = !stored.ok() || stored.value() < share;
  return looked;
}

// A file that is being written grows without its directory's time: what changed lately is looked
// at again. No snapshot takes so long to write.
StateShares::Stored StateShares::stored_of(const std::string& session_id,
                                           const StoredById& before) const {
  constexpr std::int64_t kNsInMs = 1'000'000;
  constexpr std::int64_t kNsInSecond = 1'000 * kNsInMs;
  constexpr std::int64_t kLatelyNs = 120 * kNsInSecond;
  const SessionDirectory files = ground_.files_of(session_id);
  struct stat state {};
  if (::lstat(files.state().c_str(), &state) != 0) return {};
  const std::int64_t changed_ns = state.st_mtim.tv_sec * kNsInSecond + state.st_mtim.tv_nsec;
  const auto known = before.find(session_id);
  if (known != before.end() && known->second.changed_ns == changed_ns) return known->second;
  const bool is_over = changed_ns < base::now_ms() * kNsInMs - kLatelyNs;
  return {is_over ? changed_ns : 0, files.stored_bytes()};
}

// Others have their turn at the database in between. A session that is used meanwhile comes again,
// at the end.
base::Result<std::int64_t> StateShares::stored_bytes(const std::string& principal_id,
                                                     const StoredById& before,
                                                     StoredById& found) const {
  std::int64_t stored = 0;
  for (SessionPlace after;;) {
    const auto places = TRY(session_lists_.places(principal_id, after, kRowsAtOnce));
    for (const SessionPlace& place : places) {
      if (found.contains(place.id)) continue;
      const Stored of_one = stored_of(place.id, before);
      found.emplace(place.id, of_one);
      stored += of_one.bytes;
    }
    if (places.size() < static_cast<std::size_t>(kRowsAtOnce)) return stored;
    after = places.back();
  }
}

}  // namespace sessions
