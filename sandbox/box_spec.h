// A BoxSpec is what a box is started with. The server writes it, hutch-box reads it from its
// descriptor 3.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "sandbox/address_range.h"
#include "sandbox/credential.h"
#include "sandbox/host_folder.h"
#include "sandbox/limits.h"
#include "sandbox/network_proxy.h"
#include "sandbox/network_quota.h"
#include "sandbox/network_rule.h"
#include "sandbox/path_rules.h"
#include "sandbox/run.h"

namespace sandbox {

// A BoxNetwork says what a box may reach. It can be changed while the box lives.
struct BoxNetwork {
  std::vector<NetworkRule> rules;
  std::vector<Credential> credentials;
  std::vector<AddressRange> denied_addresses;
};

struct BoxSpec {
  std::string session_id;
  std::string session_directory;      // absolute; its parts: session_parts.h
  std::string program_directory;      // holds hutch-init; absolute
  std::string data_directory;         // holds runners and profiles; absolute
  std::string environment_directory;  // absolute; empty: the packages of the host
  Limits limits;
  std::map<std::string, std::string> env;
  // This is the session's own id on the host, for user and group, as root; nothing as an ordinary
  // user.
  std::optional<std::uint32_t> host_uid;
  std::int64_t detach_seconds = 60;
  std::int64_t idle_seconds = 600;
  std::int64_t paused_max_seconds = 86400;  // then it ends, and only its files stay
  bool ends_with_connection = false;        // see Box::end_with_connection() in sandbox.h
  std::string zygote_directory;             // a zygote's, if it is there; empty: none
  std::vector<Language> ahead;              // whose interpreters start before a run asks for them
  std::vector<HostFolder> host_folders;
  PathRules paths;
  std::vector<NetworkRule> network;     // hosts that it may reach; empty: nothing but itself
  std::vector<Credential> credentials;  // that the door adds to requests
  std::map<std::string, std::string>
      network_addresses;  // the operator gives them to hosts of `network`
  // Files of the host with certificates: what the code's programs trust, what the door does, and
  // the key and certificate of the authority, where it is to look into TLS. Each empty: none.
  std::string certificate_bundle;
  std::string certificate_roots;
  std::string certificate_authority;
  NetworkQuota network_quota;
  std::vector<NetworkRule> private_hosts;      // that may have private addresses
  std::vector<AddressRange> denied_addresses;  // that no host is reached at
  NetworkProxy network_proxy;                  // by which the door reaches all but `private_hosts`
  std::vector<std::string> kept_hosts;         // whose answers the door keeps for all sessions
  std::int64_t autosave_mb = 0;   // so much of variables is stored after a run; 0: none, ever
  std::int64_t stored_mb = 0;     // so much of variables is stored as it rests
  std::int64_t downloads_mb = 0;  // answers of `kept_hosts` take no more
  std::string egress_directory;   // hutch-egress's; absolute; where the box has a network
  std::optional<std::uint32_t> egress_uid;  // as root: whose rights hutch-egress has
  std::string note;                         // the first run tells it, if any
  std::optional<std::int64_t> ends_in_ms;   // hard end of the session, by CLOCK_BOOTTIME
  bool pauses_at_end = false;               // instead: it is paused then
};

nlohmann::json spec_to_json(const BoxSpec& spec);
base::Result<BoxSpec> spec_from_json(const nlohmann::json& value);

nlohmann::json limits_to_json(const Limits& limits);

// Returns texts, as parse_network_rule() reads them.
nlohmann::json rules_to_json(const std::vector<NetworkRule>& rules);
// Fails with kInvalid, which names the one that is none, or with kLimit when there are too many.
base::Result<std::vector<NetworkRule>> rules_from_json(const nlohmann::json& value);

// Fails with kInvalid, which names the range of a limit that is outside of it; `most` is the
// operator's maximum.
base::Status check_limits(const Limits& limits, const Limits& most);

// Absent members keep their default. kInvalid names the range of a value outside of it, and the
// known names for one that is unknown. `most` is the operator's maximum.
base::Result<Limits> limits_from_json(const nlohmann::json& value, const Limits& defaults,
                                      const Limits& most);

}  // namespace sandbox
