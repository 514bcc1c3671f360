// The network of a box: the link to the door, the journal of what that tells, and rules that may
// change while the box is up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/egress_link.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/journal_room.h"
#include "sandbox/box_spec.h"
#include "sandbox/network_journal.h"

namespace sandbox::box {

class NetworkAccess {
 public:
  struct Of {
    EventLoop& loop;
    BoxSpec& spec;   // has the rules that hold
    int session_fd;  // borrowed: the session's directory
    // Opens listening sockets in the box, by a plan of init.
    std::function<base::Result<std::vector<base::UniqueFd>>(const std::string& plan)> listen;
    // Returns what decides the journal's room, but for its bytes.
    std::function<JournalRoom::Around()> around;
    std::function<void(const nlohmann::json& event)> told;  // gets what the door has told
  };

  explicit NetworkAccess(Of of) : of_(std::move(of)) {}

  // Opens it with the sockets of listeners_of() the rules. No rules: there is no network.
  base::Status open(std::vector<base::UniqueFd> sockets);
  // Adds these rules, or takes them back. kUnsupported: this box cannot have them.
  base::Status allow(const std::vector<NetworkRule>& rules, bool take_back);
  // Replaces rules, credentials and denied addresses. When it fails, all is as before.
  base::Status set(BoxNetwork network);
  // Takes what the door has said until now.
  void catch_up();
  // Takes what the door has yet to say, and then no more.
  void end();
  // Returns what the journal takes of the session's disk.
  [[nodiscard]] std::int64_t journal_bytes() const;

 private:
  base::Status listen_for(const std::vector<NetworkRule>& rules);

  Of of_;
  std::optional<NetworkJournal> journal_;
  std::optional<JournalRoom> room_;
  std::unique_ptr<EgressLink> link_;  // null: it has no network
};

}  // namespace sandbox::box
