// The services that other folders may call; ServiceParts has those that only this layer uses, too.
// Each is safe from any thread.
#pragma once

namespace sandbox {
class Sandbox;
}

namespace sessions {

struct ManagerConfig;
class Boxes;
class ConnectionSessions;
class KeptCalls;
class NetworkChanges;
class NetworkJournals;
class QuotasInForce;
class RunFiles;
class Runs;
class SessionNetworks;
class SessionStates;
class SessionTokens;
class Sessions;
class Store;

struct Services {
  const ManagerConfig& config;  // as it was opened with
  QuotasInForce& quotas;
  Store& store;
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
