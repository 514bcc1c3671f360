#include "sandbox/egress/addresses.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include <boost/asio/ip/udp.hpp>

#include "base/fd.h"

namespace sandbox::egress {
namespace {

namespace ip = boost::asio::ip;

struct Block4 {
  std::uint32_t network;
  int bits;
};

constexpr Block4 kNotPublic4[] = {
    {0x00000000, 8},   // "this network"
    {0x0A000000, 8},   // private
    {0x64400000, 10},  // shared by carriers
    {0x7F000000, 8},   // loopback
    {0xA83F8110, 32},  // the host of a virtual machine at Azure, which gives it its secrets
    {0xA9FE0000, 16},  // link-local, metadata
    {0xAC100000, 12},  // private
    {0xC0000000, 24},  // protocol assignments
    {0xC0586300, 24},  // 6to4 relays
    {0xC0A80000, 16},  // private
    {0xC6120000, 15},  // benchmarks, and the names of boxes
    {0xE0000000, 4},   // multicast
    {0xF0000000, 4},   // reserved, broadcast
};

constexpr Block4 kPrivate4[] = {
    {0x0A000000, 8}, {0x64400000, 10}, {0xAC100000, 12}, {0xC0A80000, 16}};

template <std::size_t kSize>
bool is_in(const Block4 (&blocks)[kSize], std::uint32_t address) {
  return std::any_of(std::begin(blocks), std::end(blocks), [address](const Block4& b) {
    return ((address ^ b.network) >> (32 - b.bits)) == 0;
  });
}

constexpr std::initializer_list<unsigned> kNat64 = {0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0};
constexpr std::initializer_list<unsigned> k6to4 = {0x20, 0x02};

bool is_public4(std::uint32_t address) { return !is_in(kNotPublic4, address); }

std::uint32_t embedded4(const ip::address_v6::bytes_type& bytes, std::size_t offset) {
  return static_cast<std::uint32_t>(bytes[offset]) << 24 |
         static_cast<std::uint32_t>(bytes[offset + 1]) << 16 |
         static_cast<std::uint32_t>(bytes[offset + 2]) << 8 | bytes[offset + 3];
}

bool starts_with(const ip::address_v6::bytes_type& bytes, std::initializer_list<unsigned> prefix) {
  std::size_t i = 0;
  return std::all_of(prefix.begin(), prefix.end(),
                     [&](unsigned byte) { return bytes[i++] == byte; });
}

bool is_public6(const ip::address_v6& address) {
  const auto bytes = address.to_bytes();
  if (starts_with(bytes, kNat64)) return is_public4(embedded4(bytes, 12));
  if (starts_with(bytes, k6to4)) return is_public4(embedded4(bytes, 2));
  if (starts_with(bytes, {0x20, 0x01, 0, 0})) return false;  // Teredo
  // All others have to be global unicast, which ::, ::1, ::ffff:0:0/96 and fc00::/7 are not.
  return (bytes[0] & 0xE0) == 0x20;
}

AddressBytes mapped(const ip::address_v4& address) {
  return ip::make_address_v6(ip::v4_mapped, address).to_bytes();
}

bool is_in(const std::vector<AddressRange>& ranges, const AddressBytes& address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&address](const AddressRange& range) { return contains(range, address); });
}

}  // namespace

bool is_denied(const ip::address& address, const std::vector<AddressRange>& denied) {
  if (address.is_v4()) return is_in(denied, mapped(address.to_v4()));
  const auto bytes = address.to_v6().to_bytes();
  if (is_in(denied, bytes)) return true;
  if (starts_with(bytes, kNat64))
    return is_in(denied, mapped(ip::address_v4(embedded4(bytes, 12))));
  return starts_with(bytes, k6to4) && is_in(denied, mapped(ip::address_v4(embedded4(bytes, 2))));
}

bool is_public(const ip::address& address) {
  if (address.is_v4()) return is_public4(address.to_v4().to_uint());
  return is_public6(address.to_v6());
}

bool is_private(const ip::address& address) {
  if (address.is_v4()) return is_in(kPrivate4, address.to_v4().to_uint());
  return (address.to_v6().to_bytes()[0] & 0xFE) == 0xFC;
}

bool is_own(const ip::address& address) {
  // Who talks to itself does so from the address that it talks to (ip-route(8), table local).
  constexpr std::uint16_t kAnyPort = 9;
  const ip::udp::endpoint to(address, kAnyPort);
  const base::UniqueFd socket(::socket(to.protocol().family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return false;
  if (::connect(socket.get(), to.data(), static_cast<socklen_t>(to.size())) != 0) return false;
  ip::udp::endpoint from;
  auto size = static_cast<socklen_t>(from.capacity());
  if (::getsockname(socket.get(), from.data(), &size) != 0) return false;
  return from.address() == address;
}

}  // namespace sandbox::egress
