// The services and tables that other folders may call; ServiceParts has those that only this layer
// uses, too. Each is safe from any thread.
#pragma once

namespace sandbox {
class Sandbox;
}

namespace sessions {

struct ManagerConfig;
class Boxes;
class ConnectionSessions;
class FileTable;
class KeptCalls;
class NetworkChanges;
class NetworkJournals;
class QuotasInForce;
class RunFiles;
class RunTable;
class Runs;
class SealingKeyTable;
class SessionLists;
class SessionNetworks;
class SessionStates;
class SessionTable;
class SessionTokens;
class Sessions;
class ShareTable;

struct Services {
  const ManagerConfig& config;  // as it was opened with
  QuotasInForce& quotas;
  SessionTable& session_table;
  SessionLists& session_lists;
  RunTable& run_table;
  FileTable& file_table;
  ShareTable& share_table;
  SealingKeyTable& sealing_keys;
  Sessions& sessions;
  SessionStates& states;
  Boxes& boxes;
  Runs& runs;
  ConnectionSessions& connections;
  const SessionNetworks& networks;
  NetworkChanges& network_changes;
  NetworkJournals& journals;
  const SessionTokens& tokens;
  const KeptCalls& kept_calls;
  const RunFiles& run_files;
};

}  // namespace sessions
