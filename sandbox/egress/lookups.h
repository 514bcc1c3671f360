// The addresses of names, for one session. Each session has a few turns at once, and a principal's
// sessions leave turns to those of others, so that a name server that is slow for one, or never
// answers it, does not keep the others waiting.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "sandbox/egress/asio.h"

namespace sandbox::egress {

// LookupTurns has the turns of all sessions. Nobody gets one that would give him more than are left
// for others: alone he has half of them, and the next one half of the rest.
class LookupTurns : public std::enable_shared_from_this<LookupTurns> {
 public:
  explicit LookupTurns(std::size_t most) : free_(most) {}

  // Returns a turn, until it is let go; null when none is to be had for `owner`, who has so many.
  std::shared_ptr<void> take(const std::shared_ptr<std::size_t>& owner);

  // Waiting has `timer` cancelled with each turn that is over, while it lives. Both outlive it.
  class Waiting {
   public:
    Waiting(LookupTurns& turns, asio::steady_timer& timer);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    LookupTurns& turns_;
    asio::steady_timer& timer_;
  };

 private:
  void give_back(std::size_t& owner);

  std::size_t free_;
  std::multiset<asio::steady_timer*> waiting_;
};

class Lookups {
 public:
  using Addresses = std::vector<asio::ip::address>;
  using Resolve = Addresses (*)(const std::string& host);

  static constexpr std::size_t kThreads = 16;  // for all sessions: getaddrinfo(3) blocks

  Lookups(asio::io_context& context, asio::thread_pool& threads, std::shared_ptr<LookupTurns> turns,
          Resolve resolve = &addresses_of);

  // Sets whose turns it takes, with how many he has; a session is its own owner until then.
  void set_owner(std::shared_ptr<std::size_t> owner) { owner_ = std::move(owner); }

  // Returns 8 at most; with a dot at its end no search domain of the host is tried. None: there are
  // none, or `client` has gone before it was its turn.
  Task<Addresses> find(std::string host, const Socket& client);

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    Addresses addresses;
    Clock::time_point until;
  };

  static Addresses addresses_of(const std::string& host);
  Task<Addresses> ask(std::string host);
  void remember(const std::string& host, Addresses addresses);

  asio::thread_pool& threads_;
  const std::shared_ptr<LookupTurns> turns_;
  const Resolve resolve_;
  std::shared_ptr<std::size_t> owner_ = std::make_shared<std::size_t>(0);
  asio::steady_timer turn_is_over_;
  int asked_ = 0;
  std::map<std::string, Known> known_;
};

}  // namespace sandbox::egress
