// Finds out for hutch doctor, in a real box, that its walls are there, what holds its limits, and
// that the interpreters that it is to have are of use in it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/isolation.h"
#include "sandbox/probe/probe.h"
#include "tools/cli/settings.h"

namespace tools::cli {

struct BoxProof {
  bool holds = false;  // the walls, as bash sees them from inside
  sandbox::Isolation isolation;

  struct Trial {
    bool works = false;
    std::string said;  // its version, or why it does not work
  };
  std::map<std::string, Trial> languages;  // by their names
  std::map<std::string, Trial> packages;   // Python's, if its box finds them
  Trial network;  // a session that may reach one name finds it there, and not another one
};

// Makes a session, tries everything in it, deletes it. Takes as long as the interpreters start.
base::Result<BoxProof> prove_in_a_box(const Settings& settings);

// Returns one finding for each limit, and one for pausing.
std::vector<sandbox::probe::Finding> limit_findings(const sandbox::Isolation& isolation);

// Looking is one thing, trying another: what was tried in the box corrects what was seen.
void correct(std::vector<sandbox::probe::Finding>& findings, const BoxProof& proof);

}  // namespace tools::cli
