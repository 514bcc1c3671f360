#include "sessions/file_owners.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/files/change_owner.h"
#include "sessions/audit_table.h"
#include "sessions/ground.h"
#include "sessions/session_directory.h"
#include "sessions/session_table.h"
#include "sessions/slow_start.h"

namespace sessions {

using nlohmann::json;

base::Status FileOwners::renew() {
  if (!ground_.config.own_ids) return base::done();
  // A box that lives, of an older hutch, goes on as it is.
  const auto is_free = [this](const std::string& id) { return !ground_.is_owned(id); };
  const std::size_t renewed = TRY(sessions_.renew_host_uids(*ground_.config.own_ids, is_free));
  if (renewed > 0) {
    ground_.config.notify(
        {Notice::Level::kShown,
         "this state directory was copied, moved or restored: its sessions (" +
             std::to_string(renewed) +
             ") get ids of their own on this host, and the files of each change owner before "
             "it is started for the first time"});
  }
  return base::done();
}

base::Result<Session> FileOwners::with_own_files(Session session) {
  if (!ground_.config.own_ids) return session;
  if (!session.host_uid || !ground_.config.own_ids->has(*session.host_uid)) {
    const auto is_this = [&session](const std::string& id) { return id == session.id; };
    TRY(sessions_.renew_host_uids(*ground_.config.own_ids, is_this));
    session = TRY(sessions_.find(session.principal_id, session.id));
  }
  const base::UniqueFd directory =
      TRY(base::open_file(AT_FDCWD, ground_.files_of(session.id).path(), O_PATH | O_DIRECTORY));
  for (const char* name : sandbox::kPartsOfCode) {
    TRY(give_to_session(directory.get(), name, session));
  }
  return session;
}

base::Status FileOwners::give_to_session(int directory_fd, const char* name,
                                         const Session& session) {
  const auto id = static_cast<std::uint32_t>(*session.host_uid);
  struct stat status {};
  if (::fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return base::done();
    return base::Error::from_errno(std::string("look at ") + name);
  }
  // Made by us, and not used yet.
  if (status.st_uid == id) return base::done();
  const std::string what = "files of " + session.id + "/" + name + " change owner";
  const auto told = [&](std::int64_t done, std::int64_t all) {
    const std::string words =
        what + ": " + std::to_string(done) + " of " + std::to_string(all) + " are done";
    SlowStart::tell(static_cast<double>(done) / static_cast<double>(all), words);
    ground_.config.notify({Notice::Level::kShown, words, session.principal_id, session.id});
  };
  TRY(sandbox::files::change_owner(directory_fd, name, id, told));
  // One that was only just made is nobody's change.
  json detail = {{"directory", name}, {"from", status.st_uid}, {"to", id}};
  if (status.st_uid == 0) return base::done();
  return audit_.add(
      {base::now_ms(), session.principal_id, session.id, "change_owner", std::move(detail)});
}

}  // namespace sessions
