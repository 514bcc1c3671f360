// The addresses of names, for one session. Each session has a few turns at once, so that a name
// server that is slow for one does not keep the others waiting.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "sandbox/egress/asio.h"

namespace sandbox::egress {

class Lookups {
 public:
  using Addresses = std::vector<asio::ip::address>;

  static constexpr std::size_t kThreads = 16;  // of all sessions: getaddrinfo(3) blocks

  Lookups(asio::io_context& context, asio::thread_pool& threads);

  // 8 at most; with a dot at its end no search domain of the host is tried. None: there are none,
  // or `client` has gone before it was its turn.
  Task<Addresses> find(std::string host, const Socket& client);

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    Addresses addresses;
    Clock::time_point until;
  };

  Task<Addresses> ask(std::string host);
  void remember(const std::string& host, Addresses addresses);

  asio::thread_pool& threads_;
  asio::steady_timer turns_;  // cancelled with each that is over
  int asked_ = 0;
  std::map<std::string, Known> known_;
};

}  // namespace sandbox::egress
