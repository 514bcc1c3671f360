#include "sessions/migrations.h"

#include "sessions/sqlite.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <array>
#include <cerrno>
#include <string>

#include "sessions/schema_sql.h"  // generated from schema.sql

namespace sessions {
namespace {

constexpr int kLockPauseMs = 5;

base::Result<std::int64_t> version_of(Database& database) {
  Statement statement = TRY(database.prepare("PRAGMA user_version"));
  TRY(statement.step());
  return statement.integer();
}

base::Error made_by_newer(std::int64_t version, std::int64_t newest) {
  return base::error(base::Error::Kind::kUnsupported,
                     "the database was made by a newer hutch (schema " + std::to_string(version) +
                         ", this one knows " + std::to_string(newest) +
                         "): use that hutch, or another --state-dir");
}

// Version 2: bearer tokens. Of the secret only its hash is kept.
constexpr std::string_view kTokens = R"sql(
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  principal_id TEXT NOT NULL REFERENCES principals(id),
  name TEXT,
  sha256 TEXT NOT NULL,
  scopes TEXT NOT NULL,         -- separated by spaces; empty: everything
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER,         -- to within a minute
  revoked_at INTEGER
) STRICT;

CREATE INDEX tokens_by_principal ON tokens(principal_id, created_at);
)sql";

// Version 3: keys for what travels through clients, such as the state between two rounds of a call.
constexpr std::string_view kSealingKeys = R"sql(
CREATE TABLE sealing_keys (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,            -- hexadecimal
  made_at INTEGER NOT NULL
) STRICT;
)sql";

// Version 4: folders of the host that a session has asked for, as JSON.
constexpr std::string_view kHostFolders = "ALTER TABLE sessions ADD COLUMN host_folders TEXT";

// Version 5: sessions made for calls that named none.
constexpr std::string_view kUnasked =
    "ALTER TABLE sessions ADD COLUMN unasked INTEGER NOT NULL DEFAULT 0";

// Version 6: of deleted sessions more was kept than their record; they are buried again.
constexpr std::string_view kBuryAgain = "UPDATE sessions SET buried = 0 WHERE status = 'destroyed'";

// Version 7: rows of deleted sessions stay, and take no part in what is asked of the others. A
// query has to have the index's condition in the very same words.
constexpr std::string_view kLiveAlone = R"sql(
CREATE INDEX IF NOT EXISTS sessions_live ON sessions(principal_id, last_used_at)
  WHERE status <> 'destroyed';
CREATE INDEX IF NOT EXISTS sessions_destroyed ON sessions(principal_id, last_used_at)
  WHERE status = 'destroyed';
CREATE INDEX IF NOT EXISTS sessions_unburied ON sessions(created_at)
  WHERE status = 'destroyed' AND buried = 0;
CREATE INDEX IF NOT EXISTS runs_by_status ON runs(status, queued_at, finished_at);
)sql";

// Version 8: hosts of the network that a session has asked for, as JSON.
constexpr std::string_view kNetwork = "ALTER TABLE sessions ADD COLUMN network TEXT";

// Version 9: what hutch-egress adds to requests, for hosts of the network.
constexpr std::string_view kCredentials = R"sql(
CREATE TABLE credentials (
  name TEXT PRIMARY KEY,
  host TEXT NOT NULL,           -- a rule of the network
  place TEXT NOT NULL,          -- where in a request: bearer, basic, header:NAME, query:NAME
  allow_plain INTEGER NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('value', 'command')),
  sealed TEXT NOT NULL,         -- value or command, under a key that is not in this file
  updated_at INTEGER NOT NULL
) STRICT;
)sql";

// Version 10: what sessions have asked of the network, see network_journal.h.
constexpr std::string_view kNetworkRequests = R"sql(
CREATE TABLE network_requests (
  session_id TEXT NOT NULL,
  number INTEGER NOT NULL,      -- of the session, growing: microseconds since the epoch, about
  verdict TEXT NOT NULL CHECK (verdict IN ('allowed', 'refused')),
  host TEXT NOT NULL,
  port INTEGER NOT NULL,        -- 0: a name was asked for
  method TEXT NOT NULL,         -- empty: nobody has looked
  path TEXT NOT NULL,
  status INTEGER NOT NULL,
  reason TEXT NOT NULL,
  credential TEXT NOT NULL,     -- its name
  sent_bytes INTEGER NOT NULL,
  received_bytes INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  PRIMARY KEY (session_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX network_requests_by_number ON network_requests(number);
)sql";

// Version 11.
constexpr std::string_view kKeptAnswers = R"sql(
ALTER TABLE network_requests ADD COLUMN was_kept INTEGER NOT NULL DEFAULT 0;
)sql";

// Version 12: hosts that the operator has allowed one session besides.
constexpr std::string_view kNetworkGrants = R"sql(
CREATE TABLE network_grants (
  session_id TEXT NOT NULL REFERENCES sessions(id),
  rule TEXT NOT NULL,           -- "api.example.com:443"
  granted_at INTEGER NOT NULL,
  PRIMARY KEY (session_id, rule)
) STRICT, WITHOUT ROWID;
)sql";

// Version 13: what has been sent and received, whatever becomes of the audit.
constexpr std::string_view kNetworkUse = R"sql(
ALTER TABLE sessions ADD COLUMN network_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET network_bytes = coalesce((SELECT sum(sent_bytes + received_bytes)
  FROM network_requests WHERE session_id = sessions.id), 0);
CREATE TABLE network_days (
  principal_id TEXT NOT NULL REFERENCES principals(id),
  day INTEGER NOT NULL,         -- since the epoch, by UTC
  bytes INTEGER NOT NULL,
  PRIMARY KEY (principal_id, day)
) STRICT, WITHOUT ROWID;
)sql";

// Version 14: paths that a session's code may only read, or not see, as JSON.
constexpr std::string_view kPaths = "ALTER TABLE sessions ADD COLUMN paths TEXT";

// Version 15: what a client wants to find a session by, a JSON object of strings.
constexpr std::string_view kMetadata =
    "ALTER TABLE sessions ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}'";

// Version 16: what sweeps leave to the next one, see deletion_hold.h; and by which clock a
// session's lifetime goes: that of the machine's start, which was so much behind the wall clock
// then.
constexpr std::string_view kUpkeep = R"sql(
CREATE TABLE upkeep (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  swept_at INTEGER,
  leap_ms INTEGER NOT NULL,
  held_at INTEGER,
  held_ms INTEGER NOT NULL,
  held_why TEXT NOT NULL,
  trusted_at INTEGER NOT NULL,
  released INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  counted_ms INTEGER NOT NULL
) STRICT;
ALTER TABLE sessions ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN boot_offset_ms INTEGER NOT NULL DEFAULT 0;
)sql";

// Version 17: sessions count by their boxes; one whose connection has ended, and that has nothing,
// goes. What ran before this was read, as far as that is known: a call in the foreground waits for
// its run.
constexpr std::string_view kBoxes = R"sql(
ALTER TABLE sessions ADD COLUMN connection_server TEXT;
ALTER TABLE runs ADD COLUMN was_read INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET was_read = 1 WHERE background = 0 AND finished_at IS NOT NULL;
CREATE INDEX sessions_with_box ON sessions(principal_id)
  WHERE status IN ('provisioning', 'ready', 'running', 'paused');
CREATE INDEX runs_unread ON runs(session_id) WHERE was_read = 0;
CREATE INDEX shares_by_session ON shares(session_id);
)sql";

// Version 18: of runs and deleted sessions there may be a million, and what is asked of them all is
// counted as they come and go, and they go by their age.
constexpr std::string_view kCounts = R"sql(
ALTER TABLE runs ADD COLUMN principal_id TEXT;
UPDATE runs SET principal_id = (SELECT principal_id FROM sessions WHERE id = runs.session_id);
CREATE INDEX runs_by_principal ON runs(principal_id, queued_at, id);
CREATE INDEX runs_by_end ON runs(finished_at, id) WHERE finished_at IS NOT NULL;
DROP INDEX IF EXISTS runs_by_status;
CREATE INDEX files_by_run ON files(run_id);
CREATE INDEX sessions_by_end ON sessions(ended_at, id) WHERE status = 'destroyed' AND buried = 1;

CREATE TABLE run_counts (
  status TEXT PRIMARY KEY,
  runs INTEGER NOT NULL,
  milliseconds INTEGER NOT NULL,  -- from the queue to the end
  bytes INTEGER NOT NULL          -- of their records
) STRICT, WITHOUT ROWID;
INSERT INTO run_counts SELECT status, 1, coalesce(finished_at - queued_at, 0),
  coalesce(length(CAST(record AS BLOB)), 0) FROM runs WHERE true
  ON CONFLICT (status) DO UPDATE SET runs = runs + 1,
  milliseconds = milliseconds + excluded.milliseconds, bytes = bytes + excluded.bytes;
CREATE TRIGGER runs_come AFTER INSERT ON runs BEGIN
  INSERT INTO run_counts VALUES (NEW.status, 1, coalesce(NEW.finished_at - NEW.queued_at, 0),
    coalesce(length(CAST(NEW.record AS BLOB)), 0))
  ON CONFLICT (status) DO UPDATE SET runs = runs + 1,
    milliseconds = milliseconds + excluded.milliseconds, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER runs_go AFTER DELETE ON runs BEGIN
  UPDATE run_counts SET runs = runs - 1,
    milliseconds = milliseconds - coalesce(OLD.finished_at - OLD.queued_at, 0),
    bytes = bytes - coalesce(length(CAST(OLD.record AS BLOB)), 0) WHERE status = OLD.status;
END;
CREATE TRIGGER runs_change AFTER UPDATE OF status, finished_at, record ON runs BEGIN
  UPDATE run_counts SET runs = runs - 1,
    milliseconds = milliseconds - coalesce(OLD.finished_at - OLD.queued_at, 0),
    bytes = bytes - coalesce(length(CAST(OLD.record AS BLOB)), 0) WHERE status = OLD.status;
  INSERT INTO run_counts VALUES (NEW.status, 1, coalesce(NEW.finished_at - NEW.queued_at, 0),
    coalesce(length(CAST(NEW.record AS BLOB)), 0))
  ON CONFLICT (status) DO UPDATE SET runs = runs + 1,
    milliseconds = milliseconds + excluded.milliseconds, bytes = bytes + excluded.bytes;
END;

CREATE TABLE session_counts (
  status TEXT PRIMARY KEY,
  sessions INTEGER NOT NULL       -- but for spare ones
) STRICT, WITHOUT ROWID;
INSERT INTO session_counts SELECT status, count(*) FROM sessions WHERE principal_id <> 'spare'
  GROUP BY status;
CREATE TRIGGER sessions_come AFTER INSERT ON sessions WHEN NEW.principal_id <> 'spare' BEGIN
  INSERT INTO session_counts VALUES (NEW.status, 1)
  ON CONFLICT (status) DO UPDATE SET sessions = sessions + 1;
END;
CREATE TRIGGER sessions_go AFTER DELETE ON sessions WHEN OLD.principal_id <> 'spare' BEGIN
  UPDATE session_counts SET sessions = sessions - 1 WHERE status = OLD.status;
END;
CREATE TRIGGER sessions_leave AFTER UPDATE OF status, principal_id ON sessions
  WHEN OLD.principal_id <> 'spare' BEGIN
  UPDATE session_counts SET sessions = sessions - 1 WHERE status = OLD.status;
END;
CREATE TRIGGER sessions_change AFTER UPDATE OF status, principal_id ON sessions
  WHEN NEW.principal_id <> 'spare' BEGIN
  INSERT INTO session_counts VALUES (NEW.status, 1)
  ON CONFLICT (status) DO UPDATE SET sessions = sessions + 1;
END;
)sql";

// Version 19: what is asked of one principal or session walks over nobody else's rows, and not over
// more of its own than are wanted. What a row refers to is looked for when that goes: each such
// column has an index.
constexpr std::string_view kBounds = R"sql(
CREATE INDEX IF NOT EXISTS files_by_path ON files(session_id, path, change, recorded_at);
DROP INDEX IF EXISTS files_by_session;
CREATE INDEX IF NOT EXISTS files_by_run ON files(run_id);
CREATE INDEX IF NOT EXISTS shares_by_session ON shares(session_id, created_at);
CREATE INDEX IF NOT EXISTS shares_by_expiry ON shares(expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS sessions_live_by_age ON sessions(created_at, id) WHERE status <> 'destroyed';
CREATE INDEX IF NOT EXISTS sessions_unasked ON sessions(principal_id, last_used_at)
  WHERE unasked = 1 AND status <> 'destroyed' AND status <> 'stopped';
CREATE INDEX IF NOT EXISTS tokens_live ON tokens(created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX IF NOT EXISTS tokens_by_name ON tokens(name) WHERE revoked_at IS NULL;
CREATE INDEX IF NOT EXISTS network_days_by_day ON network_days(day);
)sql";

// Version 20: requests are written down as they begin, how far each journal was taken over, and how
// many requests of each principal are here. '*': of all.
constexpr std::string_view kNetworkShares = R"sql(
ALTER TABLE network_requests ADD COLUMN is_open INTEGER NOT NULL DEFAULT 0;
ALTER TABLE network_requests ADD COLUMN more INTEGER NOT NULL DEFAULT 0;
ALTER TABLE network_requests ADD COLUMN principal_id TEXT NOT NULL DEFAULT '';
UPDATE network_requests SET principal_id =
  coalesce((SELECT principal_id FROM sessions WHERE id = session_id), '');
CREATE INDEX network_requests_by_principal ON network_requests(principal_id, number);
CREATE INDEX network_requests_open ON network_requests(session_id) WHERE is_open = 1;
CREATE TABLE network_journals (
  session_id TEXT PRIMARY KEY,
  taken INTEGER NOT NULL        -- where its next line begins, see network_journal.h
) STRICT, WITHOUT ROWID;
CREATE TABLE network_shares (
  principal_id TEXT PRIMARY KEY,
  requests INTEGER NOT NULL,
  gone INTEGER NOT NULL         -- that made way for newer ones
) STRICT, WITHOUT ROWID;
CREATE INDEX network_shares_by_size ON network_shares(requests) WHERE principal_id <> '*';
INSERT INTO network_shares SELECT principal_id, count(*), 0 FROM network_requests
  GROUP BY principal_id;
INSERT INTO network_shares SELECT '*', count(*), 0 FROM network_requests;
)sql";

// Version 21: what E2B's SDKs make a session with: where its interpreters start, and its relative
// paths; whether its ports may be public; whether a request to one wakes it; whether it is paused
// when its lifetime is over, in place of being deleted; and what its servers find as Host.
constexpr std::string_view kDoorOfE2b = R"sql(
ALTER TABLE sessions ADD COLUMN working_directory TEXT NOT NULL DEFAULT '/workspace';
ALTER TABLE sessions ADD COLUMN public_ports INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN wakes_by_port INTEGER NOT NULL DEFAULT 1;
ALTER TABLE sessions ADD COLUMN pauses_at_end INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN port_host TEXT;
)sql";

// Version 22: which languages were used lately is asked by time, since a burial writes rows anew.
constexpr std::string_view kRunTimes = "CREATE INDEX runs_by_time ON runs(queued_at, language)";

// Version 23: was_read is 0, 1, or when somebody came back to read the end of a run, in
// milliseconds.
constexpr std::string_view kReadLater =
    "CREATE INDEX runs_read_later ON runs(session_id, was_read) WHERE was_read > 1";

// Version 24: a run that begins and ends writes fewer pages. Only runs that have ended are counted
// as they change (the others are few), or are in the index of those that nobody has read, and when
// a language was last used is known to within a minute, without an index of all runs by time.
constexpr std::string_view kFewerPages = R"sql(
DROP INDEX IF EXISTS runs_by_time;
DROP INDEX IF EXISTS runs_unread;
CREATE INDEX runs_unread ON runs(session_id) WHERE was_read = 0 AND finished_at IS NOT NULL;
CREATE TABLE language_uses (
  language TEXT PRIMARY KEY,
  used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO language_uses SELECT language, max(queued_at) FROM runs GROUP BY language;

DROP TRIGGER IF EXISTS runs_come;
DROP TRIGGER IF EXISTS runs_go;
DROP TRIGGER IF EXISTS runs_change;
DELETE FROM run_counts WHERE status IN ('queued', 'running');
CREATE TRIGGER runs_come AFTER INSERT ON runs WHEN NEW.finished_at IS NOT NULL BEGIN
  INSERT INTO run_counts VALUES (NEW.status, 1, NEW.finished_at - NEW.queued_at,
    coalesce(length(CAST(NEW.record AS BLOB)), 0))
  ON CONFLICT (status) DO UPDATE SET runs = runs + 1,
    milliseconds = milliseconds + excluded.milliseconds, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER runs_go AFTER DELETE ON runs WHEN OLD.finished_at IS NOT NULL BEGIN
  UPDATE run_counts SET runs = runs - 1,
    milliseconds = milliseconds - (OLD.finished_at - OLD.queued_at),
    bytes = bytes - coalesce(length(CAST(OLD.record AS BLOB)), 0) WHERE status = OLD.status;
END;
CREATE TRIGGER runs_leave AFTER UPDATE OF status, finished_at, record ON runs
  WHEN OLD.finished_at IS NOT NULL BEGIN
  UPDATE run_counts SET runs = runs - 1,
    milliseconds = milliseconds - (OLD.finished_at - OLD.queued_at),
    bytes = bytes - coalesce(length(CAST(OLD.record AS BLOB)), 0) WHERE status = OLD.status;
END;
CREATE TRIGGER runs_change AFTER UPDATE OF status, finished_at, record ON runs
  WHEN NEW.finished_at IS NOT NULL BEGIN
  INSERT INTO run_counts VALUES (NEW.status, 1, NEW.finished_at - NEW.queued_at,
    coalesce(length(CAST(NEW.record AS BLOB)), 0))
  ON CONFLICT (status) DO UPDATE SET runs = runs + 1,
    milliseconds = milliseconds + excluded.milliseconds, bytes = bytes + excluded.bytes;
END;
)sql";

// Version 25: the audit of one session, or of what was refused, looks at nothing else, also where
// the session is known by its name.
constexpr std::string_view kAuditOfOne = R"sql(
CREATE INDEX IF NOT EXISTS sessions_by_any_name ON sessions(name, created_at)
  WHERE name IS NOT NULL;
CREATE INDEX IF NOT EXISTS network_requests_refused ON network_requests(number)
  WHERE verdict = 'refused';
CREATE INDEX IF NOT EXISTS network_requests_refused_of ON network_requests(session_id, number)
  WHERE verdict = 'refused';
)sql";

// Version 26: which rule would have allowed what was refused; its advice was part of the reason.
constexpr std::string_view kMissingRules =
    "ALTER TABLE network_requests ADD COLUMN missing_rule TEXT NOT NULL DEFAULT ''";

// Version 27: runs that have ended and sessions are counted for each principal, so that whoever has
// most gives way where all have too many.
constexpr std::string_view kCountsOfPrincipals = R"sql(
DROP TRIGGER runs_come;
DROP TRIGGER runs_go;
DROP TRIGGER runs_leave;
DROP TRIGGER runs_change;
DROP TABLE run_counts;
CREATE TABLE run_counts (
  principal_id TEXT NOT NULL,
  status TEXT NOT NULL,
  runs INTEGER NOT NULL,
  milliseconds INTEGER NOT NULL,  -- from the queue to the end
  bytes INTEGER NOT NULL,         -- of their records
  PRIMARY KEY (principal_id, status)
) STRICT, WITHOUT ROWID;
-- Grouped, all records would be sorted in temporary files.
INSERT INTO run_counts SELECT coalesce(principal_id, ''), status, 1, finished_at - queued_at,
  coalesce(length(CAST(record AS BLOB)), 0) FROM runs WHERE finished_at IS NOT NULL
  ON CONFLICT (principal_id, status) DO UPDATE SET runs = runs + 1,
  milliseconds = milliseconds + excluded.milliseconds, bytes = bytes + excluded.bytes;
CREATE TRIGGER runs_come AFTER INSERT ON runs WHEN NEW.finished_at IS NOT NULL BEGIN
  INSERT INTO run_counts VALUES (coalesce(NEW.principal_id, ''), NEW.status, 1,
    NEW.finished_at - NEW.queued_at, coalesce(length(CAST(NEW.record AS BLOB)), 0))
  ON CONFLICT (principal_id, status) DO UPDATE SET runs = runs + 1,
    milliseconds = milliseconds + excluded.milliseconds, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER runs_go AFTER DELETE ON runs WHEN OLD.finished_at IS NOT NULL BEGIN
  UPDATE run_counts SET runs = runs - 1,
    milliseconds = milliseconds - (OLD.finished_at - OLD.queued_at),
    bytes = bytes - coalesce(length(CAST(OLD.record AS BLOB)), 0)
    WHERE principal_id = coalesce(OLD.principal_id, '') AND status = OLD.status;
END;
CREATE TRIGGER runs_leave AFTER UPDATE OF status, finished_at, record ON runs
  WHEN OLD.finished_at IS NOT NULL BEGIN
  UPDATE run_counts SET runs = runs - 1,
    milliseconds = milliseconds - (OLD.finished_at - OLD.queued_at),
    bytes = bytes - coalesce(length(CAST(OLD.record AS BLOB)), 0)
    WHERE principal_id = coalesce(OLD.principal_id, '') AND status = OLD.status;
END;
CREATE TRIGGER runs_change AFTER UPDATE OF status, finished_at, record ON runs
  WHEN NEW.finished_at IS NOT NULL BEGIN
  INSERT INTO run_counts VALUES (coalesce(NEW.principal_id, ''), NEW.status, 1,
    NEW.finished_at - NEW.queued_at, coalesce(length(CAST(NEW.record AS BLOB)), 0))
  ON CONFLICT (principal_id, status) DO UPDATE SET runs = runs + 1,
    milliseconds = milliseconds + excluded.milliseconds, bytes = bytes + excluded.bytes;
END;

DROP TRIGGER sessions_come;
DROP TRIGGER sessions_go;
DROP TRIGGER sessions_leave;
DROP TRIGGER sessions_change;
DROP TABLE session_counts;
CREATE TABLE session_counts (
  principal_id TEXT NOT NULL,     -- not that of spare ones
  status TEXT NOT NULL,
  sessions INTEGER NOT NULL,
  PRIMARY KEY (principal_id, status)
) STRICT, WITHOUT ROWID;
INSERT INTO session_counts SELECT principal_id, status, count(*) FROM sessions
  WHERE principal_id <> 'spare' GROUP BY 1, 2;
CREATE TRIGGER sessions_come AFTER INSERT ON sessions WHEN NEW.principal_id <> 'spare' BEGIN
  INSERT INTO session_counts VALUES (NEW.principal_id, NEW.status, 1)
  ON CONFLICT (principal_id, status) DO UPDATE SET sessions = sessions + 1;
END;
CREATE TRIGGER sessions_go AFTER DELETE ON sessions WHEN OLD.principal_id <> 'spare' BEGIN
  UPDATE session_counts SET sessions = sessions - 1
    WHERE principal_id = OLD.principal_id AND status = OLD.status;
END;
CREATE TRIGGER sessions_leave AFTER UPDATE OF status, principal_id ON sessions
  WHEN OLD.principal_id <> 'spare' BEGIN
  UPDATE session_counts SET sessions = sessions - 1
    WHERE principal_id = OLD.principal_id AND status = OLD.status;
END;
CREATE TRIGGER sessions_change AFTER UPDATE OF status, principal_id ON sessions
  WHEN NEW.principal_id <> 'spare' BEGIN
  INSERT INTO session_counts VALUES (NEW.principal_id, NEW.status, 1)
  ON CONFLICT (principal_id, status) DO UPDATE SET sessions = sessions + 1;
END;
CREATE INDEX IF NOT EXISTS sessions_by_end_of ON sessions(principal_id, ended_at, id)
  WHERE status = 'destroyed' AND buried = 1;
)sql";

}  // namespace

std::span<const std::string_view> migrations() {
  static constexpr std::array<std::string_view, 27> kScripts{
      kSchemaSql,       kTokens,        kSealingKeys,
      kHostFolders,     kUnasked,       kBuryAgain,
      kLiveAlone,       kNetwork,       kCredentials,
      kNetworkRequests, kKeptAnswers,   kNetworkGrants,
      kNetworkUse,      kPaths,         kMetadata,
      kUpkeep,          kBoxes,         kCounts,
      kBounds,          kNetworkShares, kDoorOfE2b,
      kRunTimes,        kReadLater,     kFewerPages,
      kAuditOfOne,      kMissingRules,  kCountsOfPrincipals};
  return kScripts;
}

base::Result<base::UniqueFd> migrate_alone(Database& database, const std::string& path,
                                           std::span<const std::string_view> scripts,
                                           std::chrono::milliseconds patience,
                                           const MigrationProgress& progress) {
  const std::string lock_path = path + ".lock";
  base::UniqueFd lock =
      TRY(base::open_file(AT_FDCWD, lock_path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto newest = static_cast<std::int64_t>(scripts.size());
  bool may_stay = false;  // as it is, if it cannot give back room
  while (true) {
    if (::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) {
      // When several start at once, one finds it old, and the others then find it new.
      const std::int64_t version = TRY(version_of(database));
      if (version > newest) return made_by_newer(version, newest);
      if (version == newest && (may_stay || TRY(database.is_shrinkable()))) return lock;
      if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
        TRY(migrate(database, scripts, progress));
        may_stay = TRY(database.is_shrinkable()) || !database.make_shrinkable();
        continue;
      }
      // Others have it open: one of them, or a later start, will do it.
      may_stay = may_stay || version == newest;
      if (may_stay) continue;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) return base::Error::from_errno("lock " + lock_path);
    (void)::flock(lock.get(), LOCK_UN);
    if (std::chrono::steady_clock::now() >= deadline) {
      return base::error(base::Error::Kind::kConflict,
                         "the database is of an older hutch, which still runs here: end it, and "
                         "this one brings the database up to date (fuser " +
                             lock_path + " names it), or use another --state-dir");
    }
    (void)::poll(nullptr, 0, kLockPauseMs);
  }
}

base::Status migrate(Database& database, std::span<const std::string_view> scripts,
                     const MigrationProgress& progress) {
  const auto newest = static_cast<std::int64_t>(scripts.size());
  const std::int64_t oldest = TRY(version_of(database));
  while (true) {
    Transaction transaction = TRY(Transaction::begin(database));
    // Read inside the transaction: another server may have just done it.
    const std::int64_t version = TRY(version_of(database));
    if (version > newest) {
      return made_by_newer(version, newest);
    }
    if (version == newest) return transaction.commit();
    if (progress && oldest > 0) {
      progress(static_cast<std::size_t>(version - oldest + 1),
               static_cast<std::size_t>(newest - oldest));
    }
    TRY(database.execute(std::string(scripts[static_cast<std::size_t>(version)])));
    TRY(database.execute("PRAGMA user_version = " + std::to_string(version + 1)));
    TRY(transaction.commit());
  }
}

}  // namespace sessions
