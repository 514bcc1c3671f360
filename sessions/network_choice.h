// The network of a session: what a client may ask for, what is kept of that in its row, and what
// the operator's grants make of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/address_range.h"
#include "sandbox/network_rule.h"
#include "sessions/grants.h"

namespace sessions {

// A NetworkWish holds a client's words for a new session, or for one that is to have another
// network.
struct NetworkWish {
  std::optional<std::vector<std::string>> allow = {};  // hosts and names of sets; nothing: not said
  std::vector<std::string> credentials = {};           // by name
  std::vector<sandbox::AddressRange> denied = {};      // addresses that no host is reached at
  bool blocks_outbound = false;
};

// A NetworkChoice is a wish that was granted. Its hosts stay words, since a name of a set means
// what the operator's configuration has under it when a box starts.
struct NetworkChoice {
  std::vector<std::string> allow;
  std::vector<std::string> credentials;
  std::vector<sandbox::AddressRange> denied;

  friend bool operator==(const NetworkChoice&, const NetworkChoice&) = default;
};

// Returns nothing when the wish says nothing, and the session has what is granted unasked. kInvalid
// says what is not granted, and how whoever runs hutch can grant it.
base::Result<std::optional<NetworkChoice>> choose(const NetworkWish& wish,
                                                  const GrantedNetwork& granted);

// Returns the name by which network.allow asks for that host, which may have ":port" behind it:
// that of a set, or its rule; nothing where it is not granted.
std::optional<std::string> name_to_ask(const std::string& host, const GrantedNetwork& granted);
// Returns all such names, as a list for readers; empty where nothing is granted.
std::string names_to_ask(const GrantedNetwork& granted);

// GrantedHosts has the hosts of a choice that are granted now; `note` tells of each that is not any
// more.
struct GrantedHosts {
  std::vector<sandbox::NetworkRule> hosts;
  std::string note;
};
GrantedHosts granted_hosts(const NetworkChoice& choice, const GrantedNetwork& granted);

}  // namespace sessions
