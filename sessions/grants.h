// Grants of an operator to the sessions of a server: folders of this machine, and its network.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/host_folder.h"
#include "sandbox/network_proxy.h"
#include "sandbox/network_quota.h"
#include "sandbox/network_rule.h"

namespace sessions {

// Folders of the host that this server's operator grants to its sessions.
struct GrantedFolders {
  std::vector<sandbox::HostFolder> all;
  bool unasked = false;  // each session that asks for none has all; else none
  // Returns the folder as it is now, or why it is no longer to be granted.
  std::function<base::Result<sandbox::HostFolder>(const sandbox::HostFolder&)> look_again;
  // Sandboxes that have other folders than they would get from this server are started anew.
  bool decides = false;
};

struct PackageIndex {
  std::vector<sandbox::NetworkRule> hosts;       // without the first it finds nothing
  std::map<std::string, std::string> variables;  // for sessions that may reach that
};

// A GrantedNetwork is the part of the network that this server's operator lets its sessions reach.
struct GrantedNetwork {
  std::vector<sandbox::NetworkRule> hosts;
  // Each set has several under one name, of those that are granted: {"packages": hosts of package
  // indexes}.
  std::map<std::string, std::vector<sandbox::NetworkRule>> sets;
  // Addresses that the operator gives names, private ones too; by canonical_host().
  std::map<std::string, std::string> addresses;
  std::vector<std::string> credentials;  // names of those that sessions may use
  // Says where pip and npm find packages here, by their names.
  std::map<std::string, PackageIndex> indexes;
  // It has names of credentials for these, which every session has that may reach them.
  std::vector<std::string> index_credentials;
  // Hosts that may have private addresses.
  std::vector<sandbox::NetworkRule> private_hosts;
  sandbox::NetworkProxy proxy;
  // Answers of these hosts are kept for all sessions that may reach them, at most so much.
  std::vector<std::string> kept_hosts;
  std::int64_t downloads_mb = 0;  // 0: nothing
  sandbox::NetworkQuota quota;    // for each session; its principal_id is for those made ahead
  std::string roots;              // a file of the certificates that are trusted; empty: none
  bool unasked = false;           // each session that asks for nothing has all; else none

  [[nodiscard]] std::vector<sandbox::NetworkRule> all() const;
};

}  // namespace sessions
