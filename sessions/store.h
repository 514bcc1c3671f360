// The SQLite file, as its tables. One Store per process, safe from many threads; several processes
// may have the same file open. Times are milliseconds since the epoch.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "sessions/migrations.h"
#include "sessions/notice.h"

namespace sessions {

class AuditTable;
class CredentialTable;
class FileTable;
class NetworkTable;
class PastTable;
class PrincipalTable;
class RunTable;
class SealingKeyTable;
class SessionLists;
class SessionTable;
class ShareTable;
class SpareTable;
class TokenTable;
class UpkeepTable;

// Returns where the database of a state directory is.
inline std::string database_in(const std::string& state_directory) {
  return state_directory + "/hutch.db";
}

class Store {
  struct Parts;
  const std::unique_ptr<Parts> parts_;  // first: the references below are to its members

 public:
  // `progress` hears of a database of an older hutch that is brought up to date.
  static base::Result<std::unique_ptr<Store>> open(const std::string& path,
                                                   const MigrationProgress& progress = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Is called after each try to write, with when it began and why it failed; null: it succeeded.
  using OnAttempt =
      std::function<void(std::chrono::steady_clock::time_point begun, const base::Error* failure)>;
  // They are to be set before other threads use the store; either may be null. `on_attempt` is
  // called with the mutex held.
  void watch(OnAttempt on_attempt, Notify notify);

  PrincipalTable& principals;
  TokenTable& tokens;
  CredentialTable& credentials;
  SealingKeyTable& sealing_keys;
  SessionTable& sessions;
  SessionLists& session_lists;
  SpareTable& spares;
  RunTable& runs;
  FileTable& files;
  ShareTable& shares;
  AuditTable& audit;
  NetworkTable& network;
  UpkeepTable& upkeep;
  PastTable& past;

 private:
  explicit Store(std::unique_ptr<Parts> parts);
};

}  // namespace sessions
