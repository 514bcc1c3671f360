// Plans of boxes: a session's row, the operator's grants and the template that there is now, as one
// BoxSpec. Safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/box_spec.h"
#include "sessions/session.h"

namespace sessions {

class RunTable;
class SessionNetworks;
class StateShares;
struct Ground;

class BoxSpecs {
 public:
  BoxSpecs(const Ground& ground, RunTable& runs, const SessionNetworks& networks,
           StateShares& shares)
      : ground_(ground), runs_(runs), networks_(networks), shares_(shares) {}

  [[nodiscard]] base::Result<sandbox::BoxSpec> spec_of(const Session& session) const;
  // Returns the directory of its template's environment, as it is now; empty: it has the host's
  // packages.
  [[nodiscard]] base::Result<std::string> environment_of(const Session& session) const;

 private:
  [[nodiscard]] base::Result<std::vector<sandbox::Language>> languages_ahead() const;

  const Ground& ground_;
  RunTable& runs_;
  const SessionNetworks& networks_;
  StateShares& shares_;
};

}  // namespace sessions
