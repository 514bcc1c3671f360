#include "sandbox/egress/upstream.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>

#include "sandbox/egress/addresses.h"

namespace sandbox::egress {
namespace {

constexpr std::size_t kLookupThreads = 4;
constexpr std::size_t kAddressesMax = 8;

std::vector<asio::ip::address> addresses_of(const std::string& host) {
  std::vector<asio::ip::address> addresses;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  // With a dot at its end no search domain of the host is tried.
  if (::getaddrinfo((host + ".").c_str(), nullptr, &hints, &list) != 0) return addresses;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  for (const addrinfo* entry = list; entry != nullptr && addresses.size() < kAddressesMax;
       entry = entry->ai_next) {
    asio::ip::tcp::endpoint endpoint;
    if (entry->ai_addrlen > endpoint.capacity()) continue;
    std::copy_n(reinterpret_cast<const char*>(entry->ai_addr), entry->ai_addrlen,
                reinterpret_cast<char*>(endpoint.data()));
    endpoint.resize(entry->ai_addrlen);
    addresses.push_back(endpoint.address());
  }
  return addresses;
}

}  // namespace

Upstream::Upstream(asio::io_context&) : threads_(kLookupThreads) {}

Task<Upstream::Addresses> Upstream::look_up(std::string host) {
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(Addresses)>(
      [this](auto handler, std::string name) {
        asio::post(threads_, [shared = std::make_shared<decltype(handler)>(std::move(handler)),
                              name = std::move(name)] {
          auto found = addresses_of(name);
          const auto executor = asio::get_associated_executor(*shared);
          asio::post(executor,
                     [shared, found = std::move(found)]() mutable { (*shared)(std::move(found)); });
        });
      },
      asio::use_awaitable, host);
}

Task<Upstream::Outcome> Upstream::connect(const Socket& client, Socket& socket, std::string host,
                                          std::uint16_t port,
                                          std::optional<asio::ip::address> pinned) {
  Outcome outcome;
  Addresses addresses;
  if (pinned) {
    addresses.push_back(*pinned);
  } else {
    addresses = co_await look_up(host);
  }
  if (addresses.empty()) outcome.reason = "the host of hutch finds no address for this name";
  for (const auto& address : addresses) {
    if (pinned || is_public(address)) continue;
    outcome.refused = true;
    outcome.reason = "the name stands for " + address.to_string() +
                     ", which is no public address: such are never reached";
    co_return outcome;
  }
  for (const auto& address : addresses) {
    error_code failure;
    if (client.is_open()) co_await socket.async_connect({address, port}, into(failure));
    if (!client.is_open() || failure == asio::error::operation_aborted) {
      outcome.reason = "the host did not answer in time";
      co_return outcome;
    }
    outcome.connected = !failure;
    if (outcome.connected) {
      socket.set_option(asio::ip::tcp::no_delay(true), failure);
      co_return outcome;
    }
    outcome.reason = "no connection to the host: " + failure.message();
    socket.close(failure);
  }
  co_return outcome;
}

}  // namespace sandbox::egress
