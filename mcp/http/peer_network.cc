#include "mcp/http/peer_network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace mcp::http {

std::string network_of(const std::string& peer) {
  in6_addr address{};
  if (::inet_pton(AF_INET6, peer.c_str(), &address) != 1 || IN6_IS_ADDR_LOOPBACK(&address)) {
    return peer;
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    (void)::inet_ntop(AF_INET, &address.s6_addr[12], text.data(), text.size());
    return text.data();
  }
  std::fill(std::begin(address.s6_addr) + 8, std::end(address.s6_addr), std::uint8_t{0});
  (void)::inet_ntop(AF_INET6, &address, text.data(), text.size());
  return std::string(text.data()) + "/64";
}

}  // namespace mcp::http
