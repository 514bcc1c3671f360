// Ranges of IP addresses, as CIDR writes them. RFC 4632, RFC 4291 section 2.3.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace sandbox {

inline constexpr std::size_t kAddressRangesMax = 256;  // for one session

// Addresses of version 4 are as version 6 writes them: ::ffff:a.b.c.d, RFC 4291 section 2.5.5.2.
using AddressBytes = std::array<std::uint8_t, 16>;

struct AddressRange {
  AddressBytes first{};
  unsigned prefix_bits = 0;  // from 0 to 128

  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

// Parses "10.0.0.0/8", "2001:db8::/32", or one address. kInvalid says what is wrong, in words that
// name the text.
base::Result<AddressRange> parse_address_range(std::string_view text);
std::string text_of(const AddressRange& range);

// A range of one version has no address of the other.
bool contains(const AddressRange& range, const AddressBytes& address);

nlohmann::json ranges_to_json(const std::vector<AddressRange>& ranges);
// Fails with kInvalid for what is no array of such texts, or has more than kAddressRangesMax.
base::Result<std::vector<AddressRange>> ranges_from_json(const nlohmann::json& value);

}  // namespace sandbox
