#include "sandbox/egress/names.h"

#include "sandbox/wire/egress_protocol.h"

namespace sandbox::egress {
namespace {

constexpr std::uint32_t kFirst = 1;  // the network's own address is nobody's

}  // namespace

std::optional<std::uint32_t> Names::address_of(const std::string& host) {
  const auto known = numbers_.find(host);
  if (known != numbers_.end()) return wire::kEgressNetwork + kFirst + known->second;
  if (names_.size() == kMax) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(names_.size());
  numbers_.emplace(host, number);
  names_.push_back(host);
  return wire::kEgressNetwork + kFirst + number;
}

std::optional<std::string> Names::name_of(std::uint32_t address) const {
  if (!is_given_address(address)) return std::nullopt;
  const std::uint32_t number = address - wire::kEgressNetwork - kFirst;
  if (number >= names_.size()) return std::nullopt;
  return names_[number];
}

bool is_given_address(std::uint32_t address) {
  constexpr std::uint32_t kMask = ~0U << (32 - wire::kEgressPrefixBits);
  return (address & kMask) == wire::kEgressNetwork;
}

}  // namespace sandbox::egress
