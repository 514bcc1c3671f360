// The network of each session: what it asked for, cut with what the operator grants now, and with
// the credentials that the store has. Safe from any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sandbox/address_range.h"
#include "sandbox/box_spec.h"
#include "sandbox/credential.h"
#include "sandbox/network_rule.h"
#include "sessions/grants.h"
#include "sessions/session.h"

namespace sessions {

class CredentialTable;
class NetworkTable;

class SessionNetworks {
 public:
  // `granted` outlives this.
  SessionNetworks(const GrantedNetwork& granted, std::string state_directory, NetworkTable& network,
                  CredentialTable& credentials)
      : granted_(granted),
        state_directory_(std::move(state_directory)),
        network_(network),
        credentials_(credentials) {}

  // `note` tells the session what is missing.
  struct Network {
    std::vector<sandbox::NetworkRule> hosts;
    std::vector<sandbox::Credential> credentials;
    std::vector<sandbox::AddressRange> denied;  // addresses that no host is reached at
    std::string note;
  };
  [[nodiscard]] base::Result<Network> network_of(const Session& session) const;
  // Gives a box that network, and the bounds that hold for it.
  base::Status add(Network network, const Session& session, sandbox::BoxSpec& spec) const;

 private:
  base::Status add_credentials(const std::vector<std::string>& names, Network& network) const;
  base::Status add_index_credentials(Network& network) const;
  base::Status add_bounds(const Session& session, sandbox::BoxSpec& spec) const;

  const GrantedNetwork& granted_;
  const std::string state_directory_;
  NetworkTable& network_;
  CredentialTable& credentials_;
};

}  // namespace sessions
