#include "sandbox/egress/names.h"

#include <random>

#include "sandbox/wire/egress_protocol.h"

namespace sandbox::egress {

Names::Names() {
  // Neither the network's own address, nor the one of all.
  constexpr std::uint32_t kAddresses = 1U << (32 - wire::kEgressPrefixBits);
  std::random_device device;
  first_ = wire::kEgressNetwork +
           std::uniform_int_distribution<std::uint32_t>(1, kAddresses - 2 - kMax)(device);
}

std::optional<std::uint32_t> Names::address_of(const std::string& host) {
  const auto known = numbers_.find(host);
  if (known != numbers_.end()) return first_ + known->second;
  if (names_.size() == kMax) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(names_.size());
  numbers_.emplace(host, number);
  names_.push_back(host);
  return first_ + number;
}

std::optional<std::string> Names::name_of(std::uint32_t address) const {
  if (!is_given_address(address)) return std::nullopt;
  const std::uint32_t number = address - first_;  // far too large for an address before it
  if (number >= names_.size()) return std::nullopt;
  return names_[number];
}

bool is_given_address(std::uint32_t address) {
  constexpr std::uint32_t kMask = ~0U << (32 - wire::kEgressPrefixBits);
  return (address & kMask) == wire::kEgressNetwork;
}

}  // namespace sandbox::egress
