-- The durable truth of hutch, schema version 1; later versions are steps in migrations.cc. Columns
-- ending in _at hold milliseconds since the epoch; columns named in the comment hold JSON.

CREATE TABLE principals (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  principal_id TEXT NOT NULL REFERENCES principals(id),
  name TEXT,
  template TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN
    ('provisioning', 'ready', 'running', 'paused', 'stopped', 'destroyed', 'error')),
  ends_with_connection INTEGER NOT NULL,
  limits TEXT NOT NULL,         -- JSON
  env TEXT NOT NULL,            -- JSON
  isolation TEXT,               -- JSON: which layer holds what; NULL before the first box
  host_uid INTEGER,             -- as root: the session's own id on the host
  lifetime_seconds INTEGER,
  idle_seconds INTEGER NOT NULL,
  retention_seconds INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  ended_at INTEGER,
  error TEXT,
  buried INTEGER NOT NULL DEFAULT 0  -- destroyed, and nothing of it is left on the host
) STRICT;

-- A name is free again once its session is destroyed; a host id only when nothing of the session is
-- left on the host, and then it is NULL.
CREATE UNIQUE INDEX sessions_by_name ON sessions(principal_id, name)
  WHERE name IS NOT NULL AND status <> 'destroyed';
CREATE UNIQUE INDEX sessions_by_host_uid ON sessions(host_uid)
  WHERE host_uid IS NOT NULL;
CREATE INDEX sessions_by_principal ON sessions(principal_id, created_at);

CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions(id),
  language TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN
    ('queued', 'running', 'completed', 'failed', 'timed_out', 'cancelled')),
  background INTEGER NOT NULL,
  code_sha256 TEXT NOT NULL,
  server_id TEXT NOT NULL,      -- which server was to hand it to the box
  queued_at INTEGER NOT NULL,
  finished_at INTEGER,
  record TEXT                   -- JSON, once the run has ended
) STRICT;

CREATE INDEX runs_by_session ON runs(session_id, queued_at);
CREATE INDEX runs_unfinished ON runs(session_id) WHERE status IN ('queued', 'running');

CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions(id),
  run_id TEXT REFERENCES runs(id),
  path TEXT NOT NULL,
  change TEXT NOT NULL CHECK (change IN ('created', 'modified', 'deleted')),
  bytes INTEGER NOT NULL,
  sha256 TEXT,                  -- known for what came through write_file
  recorded_at INTEGER NOT NULL
) STRICT;

CREATE INDEX files_by_session ON files(session_id, recorded_at);

CREATE TABLE shares (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions(id),
  principal_id TEXT NOT NULL REFERENCES principals(id),
  filename TEXT NOT NULL,
  source_path TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  mime_type TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT;

CREATE INDEX shares_by_principal ON shares(principal_id, created_at);

CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  principal_id TEXT NOT NULL,
  session_id TEXT,
  action TEXT NOT NULL,
  detail TEXT NOT NULL          -- JSON
) STRICT;

CREATE INDEX audit_by_session ON audit(session_id, id);
