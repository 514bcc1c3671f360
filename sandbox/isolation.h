// Says of a box which layer of this host holds what in it, and what of the host and of the network
// its session was granted there. A box makes it (box/box.cc), and rows of sessions keep the last.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "sandbox/credential.h"
#include "sandbox/host_folder.h"
#include "sandbox/network_rule.h"

namespace sandbox {

// This is the value of Isolation::python where the session's first Python did not have to start.
inline constexpr const char* kForkedFromZygote = "forked from the zygote";

// Words are for people, and those about limits are Holder::words (enforcement.h); empty: its box,
// of another build of hutch, said nothing of it.
struct Isolation {
  std::vector<std::string> namespaces = {};
  std::string ids = {};  // whose user id its code has on the host
  std::string seccomp = {};
  std::string landlock = {};
  std::string memory = {};
  std::string processes = {};
  std::string cpus = {};
  std::string pause = {};
  std::string disk = {};
  std::string python = {};
  std::vector<HostFolder> host_folders = {};
  std::vector<NetworkRule> network = {};
  std::vector<Credential> credentials = {};

  friend bool operator==(const Isolation&, const Isolation&) = default;
};

// Returns an object of the layers alone, as every client may see it.
nlohmann::json layers_to_json(const Isolation& isolation);
nlohmann::json isolation_to_json(const Isolation& isolation);
// Fails with kInvalid when it is no object, or its grants are not as isolation_to_json() makes
// them.
base::Result<Isolation> isolation_from_json(const nlohmann::json& value);

}  // namespace sandbox
