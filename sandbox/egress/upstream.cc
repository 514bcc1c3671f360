#include "sandbox/egress/upstream.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include <boost/asio/steady_timer.hpp>

#include "sandbox/egress/addresses.h"

namespace sandbox::egress {
namespace {

constexpr std::chrono::seconds kAddressPatience{6};  // three attempts of TCP

Task<error_code> connect_to(Socket& socket, asio::ip::tcp::endpoint endpoint) {
  // A timer that has gone off already calls its handler all the same, which then looks at this.
  const auto over = std::make_shared<bool>(false);
  asio::steady_timer limit(socket.get_executor(), kAddressPatience);
  limit.async_wait([over, &socket](error_code failure) {
    if (!failure && !*over) socket.cancel(failure);
  });
  error_code failure;
  co_await socket.async_connect(endpoint, into(failure));
  *over = true;
  co_return failure;
}

std::string why_denied(const asio::ip::address& address, const std::vector<AddressRange>& denied) {
  if (!is_denied(address, denied)) return "";
  return "the name stands for " + address.to_string() + ", which this session denies";
}

std::string why_not(const asio::ip::address& address, bool may_be_private) {
  if (!is_public(address) && !(may_be_private && is_private(address))) {
    return "the name stands for " + address.to_string() +
           ", which is no public address: such are reached only where private in [network] of the "
           "configuration names the host";
  }
  if (is_own(address)) {
    return "the name stands for " + address.to_string() +
           ", an address of the machine that hutch runs on: such are never reached";
  }
  return "";
}

}  // namespace

Task<std::string> connect_upstream(Connection& connection, Lookups& lookups,
                                   std::optional<asio::ip::address> pinned, Bounds bounds) {
  Lookups::Addresses addresses;
  if (pinned) {
    addresses.push_back(*pinned);
  } else {
    addresses = co_await lookups.find(connection.host + ".", connection.client.socket());
  }
  for (const auto& address : addresses) {
    std::string refusal = why_denied(address, bounds.denied);
    if (refusal.empty() && !pinned) refusal = why_not(address, bounds.may_be_private);
    if (!refusal.empty()) co_return refusal;
  }
  if (addresses.empty()) co_return "the host of hutch finds no address for this name";
  co_return co_await connect_to_one(connection, std::move(addresses), connection.port);
}

Task<std::string> connect_to_one(Connection& connection, Lookups::Addresses addresses,
                                 std::uint16_t port) {
  std::string reason;
  for (const auto& address : addresses) {
    if (!connection.client.is_open()) co_return "the client has gone, or it took too long";
    error_code failure = co_await connect_to(connection.upstream.socket(), {address, port});
    if (!connection.client.is_open()) co_return "the client has gone, or it took too long";
    if (!failure) {
      connection.upstream.socket().set_option(asio::ip::tcp::no_delay(true), failure);
      co_return "";
    }
    const bool is_late = failure == asio::error::operation_aborted;
    reason = "no connection to the host: " +
             (is_late ? std::string("it did not answer in time") : failure.message());
    connection.upstream.renew();
  }
  co_return reason;
}

}  // namespace sandbox::egress
