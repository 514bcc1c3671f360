// Says which addresses the door may connect to: those that anybody on the Internet could have.
// IANA's registries of special-purpose addresses, RFC 6890 and its updates.
#pragma once

#include <vector>

#include <boost/asio/ip/address.hpp>

#include "sandbox/address_range.h"

namespace sandbox::egress {

// Returns false for private, shared, loopback, link-local (where clouds have their metadata),
// multicast and reserved addresses, and for addresses of version 6 that stand for such one of
// version 4. True for those of documentation: nobody has them but networks made for tests.
bool is_public(const boost::asio::ip::address& address);

// Returns whether the address belongs to the networks of homes and companies: RFC 1918, RFC 6598,
// RFC 4193.
bool is_private(const boost::asio::ip::address& address);

// Returns whether one of the ranges has the address, or the one of version 4 that it stands for
// (NAT64, 6to4).
bool is_denied(const boost::asio::ip::address& address, const std::vector<AddressRange>& denied);

// Returns whether the address is one of this machine's own, whatever range it is of. Nothing is
// sent to find out.
bool is_own(const boost::asio::ip::address& address);

}  // namespace sandbox::egress
