#include "sessions/box_grants.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sandbox/wire/json.h"
#include "sessions/filesystem_choice.h"

namespace sessions {

using nlohmann::json;
using sandbox::HostFolder;
using sandbox::NetworkRule;

namespace {

struct Grants {
  std::vector<HostFolder> folders;
  std::vector<NetworkRule> network;
  std::vector<sandbox::Credential> credentials;
};

bool is_within(const HostFolder& folder, const std::vector<HostFolder>& most) {
  const auto other = std::find_if(most.begin(), most.end(),
                                  [&](const HostFolder& f) { return f.name == folder.name; });
  if (other == most.end()) return false;
  const auto blocked = [&folder](const std::string& path) {
    return std::find(folder.blocked.begin(), folder.blocked.end(), path) != folder.blocked.end();
  };
  return folder.path == other->path && (other->writable || !folder.writable) &&
         std::all_of(other->blocked.begin(), other->blocked.end(), blocked);
}

bool are_within(const Grants& grants, const Grants& most) {
  return std::all_of(grants.folders.begin(), grants.folders.end(),
                     [&](const HostFolder& folder) { return is_within(folder, most.folders); }) &&
         sandbox::are_within(grants.network, most.network) &&
         std::all_of(grants.credentials.begin(), grants.credentials.end(),
                     [&](const sandbox::Credential& credential) {
                       return std::find(most.credentials.begin(), most.credentials.end(),
                                        credential) != most.credentials.end();
                     });
}

// Reads the grants that a box says it has; one of an older hutch says nothing.
base::Result<Grants> grants_in(const sandbox::BoxStatus& status) {
  const auto isolation = sandbox::wire::parse_json(status.isolation);
  if (!isolation.ok() || !isolation.value().is_object()) return Grants();
  const json& said = isolation.value();
  Grants grants;
  grants.folders = TRY(sandbox::folders_from_json(said.value("host_folders", json::array())));
  grants.network = TRY(sandbox::rules_from_json(said.value("network", json::array())));
  grants.credentials =
      TRY(sandbox::credentials_from_json(said.value("credentials", json::array())));
  return grants;
}

}  // namespace

void BoxGrants::remember(const std::string& session_id, const sandbox::BoxStatus& status,
                         const sandbox::BoxSpec& spec) {
  const auto present = grants_in(status);
  const bool same =
      present.ok() &&
      folders_to_json(present.value().folders) == folders_to_json(spec.host_folders) &&
      present.value().network == spec.network && present.value().credentials == spec.credentials;
  const std::lock_guard lock(mutex_);
  if (same) {
    known_.insert(session_id);
  } else {
    known_.erase(session_id);
  }
}

bool BoxGrants::are_known(const std::string& session_id) const {
  if (!ground_.config.folders.decides) return true;
  const std::lock_guard lock(mutex_);
  return known_.contains(session_id);
}

base::Result<bool> BoxGrants::hold(const Session& session, sandbox::Box& box) {
  if (are_known(session.id)) return true;
  const sandbox::BoxStatus status = TRY(box.status());
  const Grants present = TRY(grants_in(status));
  SessionNetworks::Network network = TRY(networks_.network_of(session));
  auto folders = granted_now(session.host_folders, ground_.config.folders).folders;
  const Grants wanted{std::move(folders), std::move(network.hosts), std::move(network.credentials)};
  const bool too_much = !are_within(present, wanted);
  // Work that goes on is worth more than a folder that is to come.
  const bool too_little = !are_within(wanted, present) && status.active.empty();
  if (too_much || too_little) {
    TRY(box.shutdown());
    return false;
  }
  const std::lock_guard lock(mutex_);
  known_.insert(session.id);
  return true;
}

void BoxGrants::forget(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  known_.erase(session_id);
}

}  // namespace sessions
