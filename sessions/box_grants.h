// Compares the folders and the network that a live box has with those that its session is to have
// here: boxes outlive servers, and the next one may grant others. Safe from any thread.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "base/result.h"
#include "sandbox/box_spec.h"
#include "sandbox/sandbox.h"
#include "sessions/session.h"

namespace sessions {

class SessionNetworks;
struct Ground;

class BoxGrants {
 public:
  BoxGrants(const Ground& ground, const SessionNetworks& networks)
      : ground_(ground), networks_(networks) {}

  // Returns whether the session's box is known to have what it is to have.
  [[nodiscard]] bool are_known(const std::string& session_id) const;
  // Looks whether it has. False when it has other folders or another network, and so was ended. One
  // at work that has too little is looked at again with the next use.
  base::Result<bool> hold(const Session& session, sandbox::Box& box);
  // Remembers whether a box that has just started has the grants that `spec` gave it.
  void remember(const std::string& session_id, const sandbox::BoxStatus& status,
                const sandbox::BoxSpec& spec);
  void forget(const std::string& session_id);

 private:
  const Ground& ground_;
  const SessionNetworks& networks_;
  mutable std::mutex mutex_;
  std::set<std::string> known_;  // ids of sessions
};

}  // namespace sessions
