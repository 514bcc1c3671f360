#include "sessions/share_table.h"

#include <algorithm>
#include <mutex>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "sessions/audit_table.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

using base::Error;
using nlohmann::json;

namespace {

constexpr std::int64_t kSharesAtOnce = 1000;

#define SHARE_COLUMNS                                                                           \
  "id, session_id, principal_id, filename, source_path, bytes, sha256, mime_type, created_at, " \
  "expires_at"

Share read_share(Statement& row) {
  Share share;
  share.id = row.text();
  share.session_id = row.text();
  share.principal_id = row.text();
  share.filename = row.text();
  share.source_path = row.text();
  share.bytes = row.integer();
  share.sha256 = row.text();
  share.mime_type = row.text();
  share.created_at = row.integer();
  share.expires_at = row.optional_integer();
  return share;
}

json audit_detail(const Share& share) {
  json detail = {{"share", share.id},
                 {"filename", share.filename},
                 {"bytes", share.bytes},
                 {"sha256", share.sha256}};
  if (share.expires_at) detail["expires_at"] = base::to_rfc3339(*share.expires_at);
  return detail;
}

base::Error no_such_share() {
  return base::error(Error::Kind::kNotFound,
                     "no such shared file, or it has expired or was taken back");
}

base::Result<std::vector<Share>> read_all_shares(Statement& rows) {
  std::vector<Share> shares;
  while (TRY(rows.step())) shares.push_back(read_share(rows));
  return shares;
}

std::vector<Share> oldest_first(std::vector<Share> shares) {
  std::reverse(shares.begin(), shares.end());
  return shares;
}

#define SHARES_OF(column)                              \
  "SELECT " SHARE_COLUMNS " FROM shares WHERE " column \
  " = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY created_at DESC, id DESC LIMIT ?"

// `sql`: one of SHARES_OF.
base::Result<std::vector<Share>> newest_shares(Database& database, const char* sql,
                                               const std::string& owner) {
  Statement select = TRY(database.prepare(sql));
  select.bind(owner).bind(base::now_ms()).bind(kSharesAtOnce);
  return oldest_first(TRY(read_all_shares(select)));
}

}  // namespace

base::Status ShareTable::insert(const Share& share) {
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  {
    Statement insert = TRY(file_.database->prepare("INSERT INTO shares (" SHARE_COLUMNS
                                                   ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    insert.bind(share.id)
        .bind(share.session_id)
        .bind(share.principal_id)
        .bind(share.filename)
        .bind(share.source_path)
        .bind(share.bytes)
        .bind(share.sha256)
        .bind(share.mime_type)
        .bind(share.created_at)
        .bind(share.expires_at);
    TRY(insert.run());
  }
  TRY(write_audit(*file_.database, {share.created_at, share.principal_id, share.session_id,
                                    "share_file", audit_detail(share)}));
  return transaction.commit();
}

base::Result<Share> ShareTable::find(const std::string& principal_id, const std::string& id) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare("SELECT " SHARE_COLUMNS
                                                 " FROM shares WHERE id = ? AND principal_id = ? "
                                                 "AND (expires_at IS NULL OR expires_at > ?)"));
  select.bind(id).bind(principal_id).bind(base::now_ms());
  if (!TRY(select.step())) {
    return no_such_share();
  }
  return read_share(select);
}

base::Result<Share> ShareTable::find_linked(const std::string& id) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT " SHARE_COLUMNS
      " FROM shares WHERE id = ? AND (expires_at IS NULL OR expires_at > ?)"));
  select.bind(id).bind(base::now_ms());
  if (!TRY(select.step())) return no_such_share();
  return read_share(select);
}

base::Result<std::vector<Share>> ShareTable::list(const std::string& principal_id) {
  const std::lock_guard lock(file_.mutex);
  return newest_shares(*file_.database, SHARES_OF("principal_id"), principal_id);
}

base::Result<std::vector<Share>> ShareTable::of_session(const std::string& session_id) {
  const std::lock_guard lock(file_.mutex);
  return newest_shares(*file_.database, SHARES_OF("session_id"), session_id);
}

base::Result<Shared> ShareTable::shared_by(const std::string& principal_id,
                                           std::int64_t files_max) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT count(*), coalesce(sum(bytes), 0) FROM "
                                  "(SELECT bytes FROM shares WHERE principal_id = ? LIMIT ?)"));
  select.bind(principal_id).bind(files_max);
  Shared shared;
  if (TRY(select.step())) {
    shared.files = select.integer();
    shared.bytes = select.integer();
  }
  return shared;
}

base::Result<bool> ShareTable::exists(const std::string& id) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare("SELECT 1 FROM shares WHERE id = ?"));
  return select.bind(id).step();
}

base::Result<std::vector<Share>> ShareTable::expired(std::int64_t now) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT " SHARE_COLUMNS " FROM shares WHERE expires_at <= ? ORDER BY expires_at LIMIT ?"));
  select.bind(now).bind(kSharesAtOnce);
  return read_all_shares(select);
}

base::Status ShareTable::remove(const Share& share) {
  const std::lock_guard lock(file_.mutex);
  Statement remove = TRY(file_.database->prepare("DELETE FROM shares WHERE id = ?"));
  TRY(remove.bind(share.id).run());
  if (file_.database->changed_rows() > 0) {
    file_.tell({Notice::Level::kInfo, "shared file " + share.id + " deleted: its time is over",
                share.principal_id, share.session_id});
  }
  return base::done();
}

base::Status ShareTable::revoke(const std::string& principal_id, const std::string& id) {
  const Share share = TRY(find(principal_id, id));
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  {
    Statement remove = TRY(file_.database->prepare("DELETE FROM shares WHERE id = ?"));
    TRY(remove.bind(id).run());
  }
  TRY(write_audit(*file_.database, {base::now_ms(), principal_id, share.session_id, "revoke_share",
                                    audit_detail(share)}));
  TRY(transaction.commit());
  file_.tell(
      {Notice::Level::kInfo, "shared file " + id + " taken back", principal_id, share.session_id});
  return base::done();
}

}  // namespace sessions
