// The SQLite file: principals, tokens, sessions, runs, files, shares, audit. One Store per process,
// safe from many threads (one connection behind a mutex); several processes may have the same file
// open. Every change and its audit row are one transaction. Times are milliseconds since the epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/base/fd.h"
#include "sandbox/credential.h"
#include "sandbox/network_journal.h"
#include "sandbox/base/result.h"
#include "sessions/deletion_hold.h"
#include "sessions/migrations.h"
#include "sessions/host_uids.h"
#include "sessions/notice.h"
#include "sessions/session.h"
#include "sessions/sqlite.h"

namespace sessions {

struct RunHead {
  std::string id;
  std::string session_id;
  std::string language;
  std::string status = "queued";
  bool background = false;
  std::string code_sha256;
  std::string server_id;
  std::int64_t queued_at = 0;
  std::optional<std::int64_t> finished_at;
  bool was_read = false;  // its end, by a client
};

// The place of a run among those of its principal.
struct RunPlace {
  std::int64_t queued_at = 0;
  std::string id;
};

// The place of a session among those of its principal, by when it was used.
struct SessionPlace {
  std::int64_t last_used_at = -1;
  std::string id;
};

struct Run : RunHead {
  std::optional<std::string> record;  // JSON, once it has ended
};

struct FileRecord {
  std::string session_id;
  std::optional<std::string> run_id;
  std::string path;
  std::string change;
  std::int64_t bytes = 0;
  std::optional<std::string> sha256;
  std::int64_t recorded_at = 0;
};

struct Share {
  std::string id;
  std::string session_id;
  std::string principal_id;
  std::string filename;
  std::string source_path;
  std::int64_t bytes = 0;
  std::string sha256;
  std::string mime_type;
  std::int64_t created_at = 0;
  std::optional<std::int64_t> expires_at;
};

struct AuditEntry {
  std::int64_t at = 0;
  std::string principal_id;
  std::optional<std::string> session_id;
  std::string action;
  std::string detail = "{}";  // JSON
};

// A bearer token without its secret.
struct Token {
  std::string id;
  std::string principal_id;
  std::string principal_name;
  std::optional<std::string> name;
  std::vector<std::string> scopes;  // empty: everything
  std::int64_t created_at = 0;
  std::optional<std::int64_t> expires_at;
  std::optional<std::int64_t> last_used_at;  // to within kTokenUseMs
  std::optional<std::int64_t> revoked_at;
};

struct AuditedRequest {
  std::string session_id;
  sandbox::NetworkRequest request;
};

// That are kept, of all sessions.
inline constexpr std::int64_t kNetworkRequestsMost = 200'000;

// Which of them; the newest, when there are more.
struct RequestsWanted {
  std::string session;  // id or name; empty: of all
  bool refused_only = false;
  std::int64_t after_number = 0;
  std::int64_t limit = 100;
};

struct StoredCredential {
  sandbox::Credential credential;
  std::string source;  // value: it lies under the seal; command: what prints it, each time
  std::string sealed;  // by sealing.h, bound to its name
  std::int64_t updated_at = 0;
};

// How often the use of a token is written down at most.
inline constexpr std::int64_t kTokenUseMs = 60'000;

// Tokens that let somebody in begin so, and are told from other tokens by it.
inline constexpr std::string_view kTokenPrefix = "hutch_";

// The id of the principal whose sessions nobody has asked for yet.
inline constexpr const char* kSparePrincipal = "spare";

struct RunCount {
  std::int64_t runs = 0;
  std::int64_t milliseconds = 0;  // from the queue to the end; of those that have ended
};

struct Counts {
  std::map<std::string, RunCount> runs;
  std::map<std::string, std::int64_t> sessions;  // spare ones are nobody's, and are not among them
};

// A key seals for a day, and opens what it has sealed for a day more.
inline constexpr std::int64_t kSealingKeyMs = 86'400'000;
inline constexpr std::int64_t kSealingKeyKeptMs = 86'400'000;

// A call that needs more rows of one principal than these lets others have their turn in
// between.
inline constexpr std::int64_t kRowsAtOnce = 250;

class Store {
 public:
  // `progress` hears of a database of an older hutch that is brought up to date.
  static base::Result<std::unique_ptr<Store>> open(const std::string& path,
                                                   const MigrationProgress& progress = {});
  // They are to be set before other threads use the store; either may be null. `on_attempt` is
  // called with the mutex held.
  void watch(Database::Observer on_attempt, Notify notify);

  // The principal of that name, made when there is none; its id.
  base::Result<std::string> ensure_principal(const std::string& name);

  // Takes the id, principal, name, scopes and times; the secret, which is kept nowhere, comes back.
  base::Result<std::string> create_token(const Token& token);
  // The token whose secret this is. kNotFound, with the same words for an unknown, a revoked and an
  // expired one. Every call reads the file: what another process has revoked is revoked.
  base::Result<Token> use_token(std::string_view secret, std::int64_t now);
  // All that are not revoked, the oldest first.
  base::Result<std::vector<Token>> list_tokens();
  // By id, by the secret, or by a name that only one has.
  base::Result<Token> revoke_token(const std::string& id_or_name, std::int64_t now);

  // In place of the one of that name, if any.
  base::Status put_credential(const StoredCredential& credential);
  base::Result<std::vector<StoredCredential>> list_credentials();
  // kNotFound.
  base::Result<StoredCredential> find_credential(const std::string& name);
  base::Status remove_credential(const std::string& name);

  // The bounds of a principal.
  struct Bounds {
    std::int64_t sessions_max = 0;  // that have a box, or are about to
    std::int64_t kept_max = std::numeric_limits<std::int64_t>::max();  // not destroyed
    // NOLINTNEXTLINE(google-explicit-constructor): most often it is all that counts.
    Bounds(std::int64_t sessions, std::int64_t kept = std::numeric_limits<std::int64_t>::max())
        : sessions_max(sessions), kept_max(kept) {}
  };
  // As it is with what was allocated. kConflict when the name is taken, kLimit when the principal
  // has as many already.
  base::Result<Session> create_session(Session session, const std::optional<HostUidRange>& ids,
                                       const Bounds& bounds);
  // Sessions that are made ahead of need are the spare principal's, whom nobody can be, until one
  // becomes that of whoever asks: with the name, principal and times of `wanted`, and its own id.
  // Errors as of create_session(), and kNotFound when it is not to be had any more.
  base::Status ensure_spare_principal();
  base::Result<Session> adopt_session(const std::string& spare_id, const Session& wanted,
                                      const Bounds& bounds);
  // One without a box is about to get one: it is provisioning from now on, and used. False when it
  // has one by its row. kLimit when the principal has as many already.
  base::Result<bool> claim_box(const Session& session, std::int64_t sessions_max, std::int64_t now);
  // It did not get it, and is as it was.
  base::Status unclaim_box(const Session& before);
  base::Result<std::int64_t> count_kept_sessions(const std::string& principal_id);
  // By their rows, the one that was used last last.
  base::Result<std::vector<Session>> sessions_with_box(const std::string& principal_id);
  // Without a name or anything that a client would find them by, of those after `after`, the one
  // that was used longest ago first.
  base::Result<std::vector<Session>> unnamed_sessions(const std::string& principal_id,
                                                      const SessionPlace& after,
                                                      std::int64_t limit);
  // The ones that were used longest ago.
  base::Result<std::vector<Session>> oldest_sessions(const std::string& principal_id,
                                                     std::int64_t limit);
  base::Status end_connection_of(const std::vector<std::string>& ids);
  // A run that has not ended, or whose end nobody has read; something shared, or granted.
  base::Result<bool> session_has_traces(const std::string& id);
  // Returns the languages of the newest runs of all principals, those since then.
  base::Result<std::set<std::string>> recent_languages(std::int64_t since_ms);
  // Destroys it, unless somebody has it already: then false.
  base::Result<bool> withdraw_spare(const std::string& spare_id, const std::string& why);
  // By id or, among those not destroyed, by name. kNotFound, the same for foreign and unknown.
  base::Result<Session> find_session(const std::string& principal_id,
                                     const std::string& id_or_name);
  // Finds a session that is not destroyed, of any principal. kNotFound.
  base::Result<Session> session_of_any(const std::string& id);
  // Destroyed or not, the one that was used last first.
  base::Result<std::vector<Session>> newest_sessions(const std::string& principal_id,
                                                     bool destroyed, std::int64_t limit);
  // Ids of sessions of all principals, the newest used first.
  base::Result<std::vector<std::string>> newest_used_sessions(std::int64_t limit);
  // Returns the unasked sessions that may have a box, least recently used first.
  base::Result<std::vector<Session>> unasked_sessions(const std::string& principal_id);
  // Returns the sessions of all principals that are not destroyed.
  base::Result<std::vector<Session>> live_sessions();
  // Destroyed, of all principals, with something possibly left on the host or here; and the end of
  // that, which makes the host id free again. What stays are the session's own row without its
  // variables, when and how its runs ended, what it has shared, and the audit. May be repeated, and
  // has to be where it failed.
  base::Result<std::vector<Session>> unburied_sessions();
  base::Status set_buried(const std::string& id);
  // In place of that for a withdrawn spare one: it had no runs, and every server makes some.
  base::Status forget_spare(const std::string& id);
  // Known and not destroyed.
  base::Result<bool> session_is_live(const std::string& id);
  // Nothing changes once a session is destroyed. False when it was not applied. `why` is for the
  // audit, where it is not empty.
  base::Result<bool> set_session_status(const std::string& id, SessionStatus status,
                                        const std::string& why);
  base::Status set_isolation(const std::string& id, const std::string& isolation);
  // Since it was made.
  base::Status set_lifetime(const std::string& id, std::int64_t seconds);
  base::Status set_network(const std::string& id, const std::optional<NetworkChoice>& network);
  base::Status touch_session(const std::string& id, std::int64_t now);

  base::Status insert_run(const Run& run);
  base::Status set_run_started(const std::string& run_id);
  // The first terminal record wins: false when there was one already. `files` go with it. Of a
  // session that is buried neither is kept, see set_buried(). `is_read`: a client hears of it now.
  base::Result<bool> finish_run(const std::string& run_id, const std::string& status,
                                std::int64_t finished_at, const std::string& record,
                                const std::vector<FileRecord>& files, bool is_read = false);
  base::Status set_run_read(const std::string& run_id);
  // Nothing while it has not ended.
  base::Result<std::optional<std::string>> record_of_run(const std::string& run_id);
  // kNotFound, the same for foreign and unknown.
  base::Result<Run> find_run(const std::string& principal_id, const std::string& run_id);
  // The newest first, without their records: those are large.
  base::Result<std::vector<RunHead>> runs_of_session(const std::string& session_id,
                                                     std::int64_t limit);
  // Returns the runs of all sessions of the principal behind that place in the list, the newest
  // first, without their records.
  base::Result<std::vector<RunHead>> newest_runs(const std::string& principal_id,
                                                 const std::optional<RunPlace>& before,
                                                 std::int64_t limit);
  base::Result<std::vector<Run>> unfinished_runs(const std::string& session_id);
  // Returns the sessions of all principals that have a run which is not over, but for paused
  // ones.
  base::Result<std::set<std::string>> busy_sessions();
  // Returns the counts of all principals by status, which were kept as things happened, without
  // a look at all rows.
  base::Result<Counts> counts();

  base::Status record_file(const FileRecord& file);
  // Returns what runs and write_file did to each path since then: path to created, modified or
  // deleted.
  base::Result<std::map<std::string, std::string>> file_changes(const std::string& session_id,
                                                                std::int64_t since,
                                                                const std::set<std::string>& paths);
  base::Status insert_share(const Share& share);
  base::Result<Share> find_share(const std::string& principal_id, const std::string& id);
  // For whoever has the id, which nobody can guess: a link.
  base::Result<Share> find_linked_share(const std::string& id);
  // The newest of them, the oldest of these first; and of one session.
  base::Result<std::vector<Share>> list_shares(const std::string& principal_id);
  base::Result<std::vector<Share>> shares_of_session(const std::string& session_id);
  base::Result<bool> share_exists(const std::string& id);
  // Not more than the next thousand.
  base::Result<std::vector<Share>> expired_shares(std::int64_t now);
  base::Status delete_share(const std::string& id);
  // Takes back a share of its principal. kNotFound as find_share().
  base::Status revoke_share(const std::string& principal_id, const std::string& id);
  base::Status add_audit(const AuditEntry& entry);
  // The last ones, the newest last.
  base::Result<std::vector<AuditEntry>> audit_of_session(const std::string& session_id,
                                                         std::int64_t limit);

  // Rules that the operator has given one session besides; and gives it, or takes back.
  base::Result<std::vector<std::string>> network_grants(const std::string& session_id);
  // Nothing is given to a destroyed session.
  base::Status set_network_grant(const std::string& session_id, const std::string& rule,
                                 bool is_granted, std::int64_t now_ms);
  // How far the journal of the session was taken over: after which of its lines.
  base::Result<std::int64_t> network_journal_taken(const std::string& session_id);
  // Takes over the entries that follow `after`; returns false when another server has done so
  // meanwhile. Beyond the bound of all requests, the oldest of the principal who has the most
  // make way.
  base::Result<bool> take_network_journal(const std::string& session_id, std::int64_t after,
                                          const std::vector<sandbox::JournalEntry>& entries,
                                          std::int64_t requests_most = kNetworkRequestsMost);
  // Nobody will tell of their end.
  base::Status end_network_requests(const std::string& session_id);
  // That one session has sent and received, as far as its journal was taken over.
  base::Result<std::int64_t> network_bytes(const std::string& session_id);
  // That all sessions of a principal have on one day (utc_day_of()).
  base::Result<std::int64_t> network_bytes_on(const std::string& principal_id, std::int64_t day);
  // The oldest first.
  base::Result<std::vector<AuditedRequest>> network_requests(const RequestsWanted& wanted);
  base::Result<std::optional<AuditedRequest>> network_request(const std::string& session_id,
                                                              std::int64_t number);
  // How many have made way, since ever.
  base::Result<std::int64_t> network_requests_gone();

  // 64 hexadecimal digits each, the one to seal with first, made when there is none young enough.
  base::Result<std::vector<std::string>> sealing_keys(std::int64_t now);

  // --- Upkeep --------------------------------------------------------------------------------

  base::Result<Upkeep> upkeep();
  // Decides what a sweep may do, see decide(), and writes it down for the next one. What cannot be
  // written down holds all the same.
  base::Result<HoldDecision> begin_sweep(const Moment& now, std::int64_t served_since_ms,
                                         const Due& due, std::int64_t retention_seconds);
  // It has deleted all that was over its time: what released that has been used up.
  base::Status end_sweep();
  // Lets deletion go on at once. False when it was not held back.
  base::Result<bool> release_deletion();
  // Between two sweeps, of what is over its time; no when in doubt.
  bool may_delete_by_time(std::int64_t now_ms);
  // Destroyed or not.
  base::Result<bool> session_is_on_record(const std::string& id);

  // --- Retention -----------------------------------------------------------------------------

  // A run that has ended, and whether it may go.
  struct OldRun {
    std::string id;
    std::string session_id;
    std::int64_t finished_at = 0;
    bool may_go = false;  // read, and not of the newest ones of a session that exists
  };
  // The newest runs of a session that exists stay, however old they are.
  static constexpr std::int64_t kNewestRunsKept = 1000;
  // The oldest behind `after`, by their end.
  base::Result<std::vector<OldRun>> old_runs(const OldRun& after, std::int64_t limit);
  base::Status delete_runs(const std::vector<std::string>& ids);
  // Returns about how many bytes all runs take.
  base::Result<std::int64_t> bytes_of_runs();
  // Returns the buried sessions that ended first and have shared nothing that is left.
  base::Result<std::vector<Session>> oldest_deleted(std::int64_t limit);
  base::Result<std::int64_t> count_deleted();
  // Some of the runs and of the audit of a deleted session, and then its row: true when that is
  // gone. In one transaction of bounded size.
  base::Result<bool> forget_some_of(const std::string& id);

  // --- Space ---------------------------------------------------------------------------------

  // Sessions whose id on the host is none of the range get one that is, where `may` says so: those
  // of a state directory that was copied or moved. How many they were.
  base::Result<std::size_t> renew_host_uids(
      const HostUidRange& range, const std::function<bool(const std::string& session_id)>& may);

  // Gives some of the pages that are free back to the file system; true when more are left. Then
  // the write-ahead log is emptied, which still has what was deleted.
  base::Result<bool> shrink();

 private:
  Store(std::unique_ptr<Database> database, base::UniqueFd schema_lock)
      : schema_lock_(std::move(schema_lock)), database_(std::move(database)) {}

  // It does nothing where nobody wants to hear of it.
  void tell(const Notice& notice) const;
  // Callers hold the mutex.
  base::Result<std::string> principal_of(const std::string& session_id);
  base::Result<std::int64_t> journal_taken(const std::string& session_id);
  base::Result<bool> insert_network_request(const std::string& session_id,
                                            const std::string& principal_id,
                                            const sandbox::NetworkRequest& request);
  base::Status update_network_request(const std::string& session_id,
                                      const sandbox::NetworkRequest& request);
  base::Status count_network_requests(const std::string& share, std::int64_t more,
                                      std::int64_t gone);
  base::Status drop_oldest_requests(std::int64_t requests_most);
  base::Result<std::int64_t> requests_of_all();
  base::Status count_network_bytes(const std::string& session_id, const std::string& principal_id,
                                   std::int64_t day, std::int64_t bytes);
  base::Status write_audit(const AuditEntry& entry);
  base::Status write_file_record(const FileRecord& file);
  base::Result<std::optional<std::string>> change_of_path(const std::string& session_id,
                                                          const std::string& path,
                                                          std::int64_t since);
  base::Result<std::optional<RunHead>> run_of_buried_session(const std::string& run_id);
  base::Result<std::vector<Run>> some_to_erase(const std::string& session_id, const RunHead& after);
  base::Status replace_record(const std::string& run_id, const std::string& record);
  base::Result<std::int64_t> free_pages();
  base::Result<Upkeep> read_upkeep();
  base::Status write_upkeep(const Upkeep& upkeep);
  base::Result<std::int64_t> free_host_uid(const HostUidRange& range);
  base::Result<std::optional<std::string>> principal_named(const std::string& name);
  // None when a new one is due.
  base::Result<std::vector<std::string>> newest_sealing_keys(std::int64_t now);
  // These take the mutex again and again, so that others have their turn in between.
  base::Status erase_records(const std::string& session_id);
  base::Status delete_file_rows(const std::string& session_id);
  base::Result<std::vector<Session>> all_in_turns(const char* sql);

  const base::UniqueFd schema_lock_;  // as long as it is held, the schema stays as it is
  std::mutex mutex_;
  std::unique_ptr<Database> database_;
  Notify notify_;
  bool has_erased_ = false;  // since shrink() has emptied the log
};

}  // namespace sessions
