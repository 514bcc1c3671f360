// A box with a network has addresses on its loopback, and sockets there from which hutch-egress
// accepts. A box without one has none of these until it is allowed its first host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/box/plan_writer.h"
#include "sandbox/box_spec.h"

namespace sandbox::box {

// Here a box with a network has the certificates that its programs trust, and where Debian has
// them, too.
inline constexpr const char* kCertificatesPlace = "/run/hutch/certificates.pem";

struct Listener {
  const char* kind;      // a listener's kind in egress_protocol.h
  const char* protocol;  // tcp or udp
  const char* address;   // in the box
  std::uint16_t port;
};

// Returns the listeners in the order of the plan, in which init hands them over.
std::vector<Listener> listeners_of(const std::vector<NetworkRule>& rules);

// Returns the plan with which a box that is up gets these listeners.
std::string plan_of(const std::vector<Listener>& listeners);

void add_network(PlanWriter& plan, const BoxSpec& spec);

}  // namespace sandbox::box
