#include "sessions/session_lists.h"

#include <iterator>
#include <limits>
#include <mutex>

#include "sessions/session_rows.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

base::Result<std::vector<Session>> SessionLists::newest(const std::string& principal_id,
                                                        bool destroyed, std::int64_t limit) {
  const std::lock_guard lock(file_.mutex);
  const char* newest = destroyed ? "SELECT " SESSION_COLUMNS
                                   " FROM sessions WHERE principal_id = ? AND status = 'destroyed'"
                                   " ORDER BY last_used_at DESC, created_at DESC, id LIMIT ?"
                                 : "SELECT " SESSION_COLUMNS
                                   " FROM sessions WHERE principal_id = ? AND status <> 'destroyed'"
                                   " ORDER BY last_used_at DESC, created_at DESC, id LIMIT ?";
  Statement select = TRY(file_.database->prepare(newest));
  select.bind(principal_id).bind(limit);
  return read_all_sessions(select);
}

base::Result<std::vector<std::string>> SessionLists::newest_used(std::int64_t limit) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT id FROM sessions WHERE status <> 'destroyed' AND principal_id <> ? "
      "ORDER BY last_used_at DESC LIMIT ?"));
  select.bind(std::string(kSparePrincipal)).bind(limit);
  std::vector<std::string> ids;
  while (TRY(select.step())) ids.push_back(select.text());
  return ids;
}

base::Result<std::vector<Session>> SessionLists::oldest(const std::string& principal_id,
                                                        std::int64_t limit) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT " SESSION_COLUMNS
                                  " FROM sessions WHERE principal_id = ? AND status <> 'destroyed' "
                                  "ORDER BY last_used_at LIMIT ?"));
  select.bind(principal_id).bind(limit);
  return read_all_sessions(select);
}

base::Result<std::vector<SessionPlace>> SessionLists::places(const std::string& principal_id,
                                                             const SessionPlace& after,
                                                             std::int64_t limit) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT last_used_at, id FROM sessions WHERE principal_id = ? AND status <> 'destroyed' "
      "AND (last_used_at, id) > (?, ?) ORDER BY last_used_at, id LIMIT ?"));
  select.bind(principal_id).bind(after.last_used_at).bind(after.id).bind(limit);
  std::vector<SessionPlace> places;
  while (TRY(select.step())) {
    SessionPlace& place = places.emplace_back();
    place.last_used_at = select.integer();
    place.id = select.text();
  }
  return places;
}

base::Result<std::vector<Session>> SessionLists::unasked(const std::string& principal_id) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT " SESSION_COLUMNS
      " FROM sessions WHERE principal_id = ? AND unasked = 1 AND status <> 'destroyed' "
      "AND status <> 'stopped' ORDER BY last_used_at, created_at, id"));
  select.bind(principal_id);
  return read_all_sessions(select);
}

base::Result<std::vector<Session>> SessionLists::unnamed(const std::string& principal_id,
                                                         const SessionPlace& after,
                                                         std::int64_t limit) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT " SESSION_COLUMNS
                                  " FROM sessions WHERE principal_id = ? AND status <> 'destroyed' "
                                  "AND (last_used_at, id) > (?, ?) AND name IS NULL AND metadata = "
                                  "'{}' ORDER BY last_used_at, id LIMIT ?"));
  select.bind(principal_id).bind(after.last_used_at).bind(after.id).bind(limit);
  return read_all_sessions(select);
}

base::Result<std::vector<Session>> SessionLists::with_box(const std::string& principal_id) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT " SESSION_COLUMNS " FROM sessions WHERE principal_id = ? AND " HAS_BOX
      " ORDER BY last_used_at, created_at, id"));
  select.bind(principal_id);
  return read_all_sessions(select);
}

base::Result<std::int64_t> SessionLists::count_kept(const std::string& principal_id) {
  const std::lock_guard lock(file_.mutex);
  return count_sessions(
      *file_.database,
      "SELECT count(*) FROM sessions WHERE principal_id = ? AND status <> 'destroyed'",
      principal_id);
}

base::Result<std::vector<Session>> SessionLists::all_in_turns(const char* sql) {
  std::vector<Session> all;
  while (true) {
    const std::lock_guard lock(file_.mutex);
    Statement select = TRY(file_.database->prepare(sql));
    select.bind(all.empty() ? std::numeric_limits<std::int64_t>::min() : all.back().created_at)
        .bind(all.empty() ? "" : all.back().id)
        .bind(kRowsAtOnce);
    auto some = TRY(read_all_sessions(select));
    all.insert(all.end(), std::make_move_iterator(some.begin()),
               std::make_move_iterator(some.end()));
    if (some.size() < static_cast<std::size_t>(kRowsAtOnce)) return all;
  }
}

base::Result<std::vector<Session>> SessionLists::live() {
  return all_in_turns("SELECT " SESSION_COLUMNS
                      " FROM sessions WHERE status <> 'destroyed' AND (created_at, id) > (?, ?) "
                      "ORDER BY created_at, id LIMIT ?");
}

base::Result<std::vector<Session>> SessionLists::unburied() {
  return all_in_turns("SELECT " SESSION_COLUMNS
                      " FROM sessions WHERE status = 'destroyed' AND buried = 0 AND "
                      "(created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?");
}

}  // namespace sessions
