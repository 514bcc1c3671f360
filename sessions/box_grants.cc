#include "sessions/box_grants.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sessions/filesystem_choice.h"
#include "sessions/ground.h"
#include "sessions/session_networks.h"

namespace sessions {

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

// Returns whether a box has these very directories: one that was made anew under its path is
// another one.
bool are_the_same(const std::vector<HostFolder>& wanted, const std::vector<HostFolder>& present) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const HostFolder& folder) {
    return std::any_of(present.begin(), present.end(), [&](const HostFolder& other) {
      return folder.name == other.name && folder.device == other.device &&
             folder.inode == other.inode;
    });
  });
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

Grants grants_in(const sandbox::BoxStatus& status) {
  return {status.isolation.host_folders, status.isolation.network, status.isolation.credentials};
}

}  // namespace

void BoxGrants::remember(const std::string& session_id, const sandbox::BoxStatus& status,
                         const sandbox::BoxSpec& spec) {
  const sandbox::Isolation& present = status.isolation;
  const bool same = present.host_folders == spec.host_folders && present.network == spec.network &&
                    present.credentials == spec.credentials;
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
  const Grants present = grants_in(status);
  SessionNetworks::Network network = TRY(networks_.network_of(session));
  auto folders = granted_now(session.host_folders, ground_.config.folders).folders;
  const Grants wanted{std::move(folders), std::move(network.hosts), std::move(network.credentials)};
  const bool too_much = !are_within(present, wanted);
  const bool too_little =
      !are_within(wanted, present) || !are_the_same(wanted.folders, present.folders);
  // Work that goes on is worth more than a folder that is to come.
  if (too_much || (too_little && status.active.empty())) {
    const char* why = "what it may use of this machine has changed";
    TRY(too_much ? box.shutdown_revoked(why) : box.shutdown(why, sandbox::Box::kShutdownPatience));
    return false;
  }
  if (too_little) return true;
  const std::lock_guard lock(mutex_);
  known_.insert(session.id);
  return true;
}

void BoxGrants::forget(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  known_.erase(session_id);
}

}  // namespace sessions
