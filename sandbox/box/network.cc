#include "sandbox/box/network.h"

#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "sandbox/environment.h"
#include "sandbox/wire/egress_protocol.h"

namespace sandbox::box {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr const char* kAnyAddress = "0.0.0.0";
constexpr const char* kCertificatesOfDebian = "/etc/ssl/certs/ca-certificates.crt";
constexpr const char* kEgressAddress = "198.18.0.0";

// Below the environment: the copy of certificates that Python's certifi brings, which programs name
// themselves.
std::vector<std::string> certificates_of_certifi(const std::string& environment_directory) {
  std::vector<std::string> places;
  std::error_code ignored;
  for (const auto& python :
       std::filesystem::directory_iterator(environment_directory + "/lib", ignored)) {
    const std::string place =
        "/lib/" + python.path().filename().string() + "/site-packages/certifi/cacert.pem";
    struct stat status {};
    if (::lstat((environment_directory + place).c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      places.push_back(place);
    }
  }
  return places;
}

void add_certificates(PlanWriter& plan, const BoxSpec& spec) {
  if (spec.certificate_bundle.empty()) return;
  const auto bind = [&](const std::string& place) {
    plan.add(wire::PlanOp::kBind, {spec.certificate_bundle, place, "r", "0", "0"});
  };
  bind(kCertificatesPlace);
  struct stat status {};
  if (::lstat(kCertificatesOfDebian, &status) == 0 && S_ISREG(status.st_mode)) {
    bind(kCertificatesOfDebian);
  }
  if (spec.environment_directory.empty()) return;
  for (const std::string& place : certificates_of_certifi(spec.environment_directory)) {
    bind(kEnvironmentPlace + place);
  }
}

void add_listeners(PlanWriter& plan, const std::vector<Listener>& listeners) {
  plan.add(wire::PlanOp::kRoute, {kEgressAddress, std::to_string(wire::kEgressPrefixBits)});
  for (const Listener& listener : listeners) {
    plan.add(wire::PlanOp::kListen,
             {listener.protocol, listener.address, std::to_string(listener.port)});
  }
}

}  // namespace

std::vector<Listener> listeners_of(const std::vector<NetworkRule>& rules) {
  if (rules.empty()) return {};
  std::vector<Listener> listeners = {{"dns_udp", "udp", kLoopback, wire::kDnsPort},
                                     {"dns_tcp", "tcp", kLoopback, wire::kDnsPort},
                                     {"proxy", "tcp", kLoopback, wire::kEgressProxyPort}};
  std::set<std::uint16_t> ports = {kHttpPort, kHttpsPort};
  for (const NetworkRule& rule : rules) {
    if (rule.port != 0) ports.insert(rule.port);
  }
  // The listeners above answer on these two ports already.
  ports.erase(wire::kEgressProxyPort);
  ports.erase(wire::kDnsPort);
  for (const std::uint16_t port : ports) {
    listeners.push_back({"direct", "tcp", kAnyAddress, port});
  }
  return listeners;
}

std::string plan_of(const std::vector<Listener>& listeners) {
  PlanWriter plan;
  add_listeners(plan, listeners);
  return plan.take();
}

void add_network(PlanWriter& plan, const BoxSpec& spec) {
  if (spec.network.empty()) return;
  add_certificates(plan, spec);
  add_listeners(plan, listeners_of(spec.network));
}

}  // namespace sandbox::box
