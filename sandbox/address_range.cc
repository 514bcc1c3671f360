#include "sandbox/address_range.h"

#include <arpa/inet.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/shortened_text.h"
#include "base/text.h"

namespace sandbox {

using base::Error;
using nlohmann::json;

namespace {

constexpr unsigned kBits = 128;
constexpr unsigned kBitsBeforeVersion4 = 96;
constexpr std::size_t kBytesBeforeVersion4 = kBitsBeforeVersion4 / 8;
constexpr AddressBytes kVersion4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};

Error no_range(std::string_view text) {
  return base::error(Error::Kind::kInvalid,
                     "\"" + base::echoed(std::string(text)) +
                         "\" is no IP address and no range of them, such as 10.0.0.0/8");
}

bool is_version4(const AddressBytes& bytes) {
  return std::equal(bytes.begin(), bytes.begin() + kBytesBeforeVersion4, kVersion4.begin());
}

std::uint8_t mask_of(unsigned prefix_bits, std::size_t byte) {
  const unsigned before = static_cast<unsigned>(byte) * 8;
  if (prefix_bits >= before + 8) return 0xff;
  if (prefix_bits <= before) return 0;
  return static_cast<std::uint8_t>(0xffU << (8 - (prefix_bits - before)));
}

}  // namespace

base::Result<AddressRange> parse_address_range(std::string_view text) {
  const std::string address(text.substr(0, text.find('/')));
  AddressRange range;
  range.first = kVersion4;
  unsigned bits = kBits - kBitsBeforeVersion4;
  if (::inet_pton(AF_INET, address.c_str(), range.first.data() + kBytesBeforeVersion4) != 1) {
    bits = kBits;
    if (::inet_pton(AF_INET6, address.c_str(), range.first.data()) != 1) return no_range(text);
  }
  const unsigned whole = bits;
  if (address.size() < text.size()) {
    const auto given = base::number_of<unsigned>(text.substr(address.size() + 1));
    if (!given || *given > whole) return no_range(text);
    bits = *given;
  }
  range.prefix_bits = bits + (kBits - whole);
  for (std::size_t at = 0; at < range.first.size(); ++at) {
    range.first.at(at) &= mask_of(range.prefix_bits, at);
  }
  return range;
}

std::string text_of(const AddressRange& range) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool four = is_version4(range.first) && range.prefix_bits >= kBitsBeforeVersion4;
  const std::uint8_t* bytes = range.first.data() + (four ? kBytesBeforeVersion4 : 0);
  (void)::inet_ntop(four ? AF_INET : AF_INET6, bytes, text.data(), text.size());
  const unsigned bits = range.prefix_bits - (four ? kBitsBeforeVersion4 : 0);
  return std::string(text.data()) + "/" + std::to_string(bits);
}

bool contains(const AddressRange& range, const AddressBytes& address) {
  const bool is_of_version4 = range.prefix_bits >= kBitsBeforeVersion4 && is_version4(range.first);
  if (is_of_version4 != is_version4(address)) return false;
  for (std::size_t at = 0; at < address.size(); ++at) {
    if ((address.at(at) & mask_of(range.prefix_bits, at)) != range.first.at(at)) return false;
  }
  return true;
}

json ranges_to_json(const std::vector<AddressRange>& ranges) {
  json all = json::array();
  for (const AddressRange& range : ranges) all.push_back(text_of(range));
  return all;
}

base::Result<std::vector<AddressRange>> ranges_from_json(const json& value) {
  std::vector<AddressRange> ranges;
  if (value.is_null()) return ranges;
  if (!value.is_array() || value.size() > kAddressRangesMax) {
    return base::error(Error::Kind::kInvalid, "addresses must be an array of strings, at most " +
                                                  std::to_string(kAddressRangesMax));
  }
  for (const json& text : value) {
    if (!text.is_string()) return base::error(Error::Kind::kInvalid, "an address is a string");
    ranges.push_back(TRY(parse_address_range(text.get_ref<const std::string&>())));
  }
  return ranges;
}

}  // namespace sandbox
