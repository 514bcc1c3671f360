// Changes what a session may reach while it lives. Safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/network_rule.h"
#include "sessions/network_choice.h"
#include "sessions/session.h"

namespace sessions {

class AuditTable;
class NetworkTable;
class SessionNetworks;
class SessionTable;
struct Ground;

class NetworkChanges {
 public:
  NetworkChanges(Ground& ground, SessionTable& sessions, NetworkTable& network, AuditTable& audit,
                 const SessionNetworks& networks)
      : ground_(ground),
        sessions_(sessions),
        network_(network),
        audit_(audit),
        networks_(networks) {}

  // Hosts that the operator allows one session besides, or takes back what was allowed so. It holds
  // at once, or from the next start of its processes: then this is why.
  base::Result<std::string> allow(const Session& known,
                                  const std::vector<sandbox::NetworkRule>& rules, bool take_back);
  // Makes another choice, as SessionOptions::network has it, of what the session may reach of what
  // the operator allows. It holds at once. kUnsupported: its processes would have to start anew.
  base::Status change(const Session& known, const NetworkWish& network);

 private:
  Ground& ground_;
  SessionTable& sessions_;
  NetworkTable& network_;
  AuditTable& audit_;
  const SessionNetworks& networks_;
};

}  // namespace sessions
