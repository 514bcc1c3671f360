#include "sandbox/egress/lookups.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>

namespace sandbox::egress {
namespace {

constexpr int kAtOnce = 3;
constexpr std::size_t kAddressesMax = 8;
// A program's connections come in swarms; getaddrinfo(3) says nothing of how long an answer is
// good.
constexpr std::chrono::seconds kGoodFor{5};

}  // namespace

Lookups::Addresses Lookups::addresses_of(const std::string& host) {
  std::vector<asio::ip::address> addresses;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return addresses;
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

std::shared_ptr<void> LookupTurns::take(const std::shared_ptr<std::size_t>& owner) {
  if (*owner >= free_) return nullptr;
  --free_;
  ++*owner;
  return {this, [self = shared_from_this(), owner](LookupTurns*) { self->give_back(*owner); }};
}

void LookupTurns::give_back(std::size_t& owner) {
  ++free_;
  --owner;
  for (asio::steady_timer* timer : waiting_) timer->cancel();
}

LookupTurns::Waiting::Waiting(LookupTurns& turns, asio::steady_timer& timer)
    : turns_(turns), timer_(timer) {
  turns_.waiting_.insert(&timer_);
}

LookupTurns::Waiting::~Waiting() { turns_.waiting_.erase(turns_.waiting_.find(&timer_)); }

Lookups::Lookups(asio::io_context& context, asio::thread_pool& threads,
                 std::shared_ptr<LookupTurns> turns, Resolve resolve)
    : threads_(threads),
      turns_(std::move(turns)),
      resolve_(resolve),
      turn_is_over_(context, Clock::time_point::max()) {}

Task<Lookups::Addresses> Lookups::find(std::string host, const Socket& client) {
  std::shared_ptr<void> turn;
  while (true) {
    const auto known = known_.find(host);
    if (known != known_.end() && Clock::now() < known->second.until) {
      co_return known->second.addresses;
    }
    if (!client.is_open()) co_return Addresses{};
    if (asked_ < kAtOnce) turn = turns_->take(owner_);
    if (turn) break;
    const LookupTurns::Waiting waiting(*turns_, turn_is_over_);
    error_code over;
    co_await turn_is_over_.async_wait(into(over));
  }
  ++asked_;
  Addresses found = co_await ask(host);
  --asked_;
  remember(host, found);
  turn.reset();
  co_return found;
}

void Lookups::remember(const std::string& host, Addresses addresses) {
  const auto now = Clock::now();
  std::erase_if(known_, [now](const auto& entry) { return entry.second.until <= now; });
  if (!addresses.empty()) known_[host] = {std::move(addresses), now + kGoodFor};
}

Task<Lookups::Addresses> Lookups::ask(std::string host) {
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(Addresses)>(
      [this](auto handler, std::string name) {
        asio::post(threads_, [shared = std::make_shared<decltype(handler)>(std::move(handler)),
                              resolve = resolve_, name = std::move(name)] {
          auto found = resolve(name);
          const auto executor = asio::get_associated_executor(*shared);
          asio::post(executor,
                     [shared, found = std::move(found)]() mutable { (*shared)(std::move(found)); });
        });
      },
      asio::use_awaitable, host);
}

}  // namespace sandbox::egress
