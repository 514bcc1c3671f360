// A Connection is one connection of a box, and the one to the host that belongs to it. Both end
// together, by a deadline or after a while without a byte.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/steady_timer.hpp>

#include "sandbox/egress/asio.h"
#include "sandbox/egress/meter.h"
#include "sandbox/egress/principal_share.h"
#include "sandbox/egress/stream.h"
#include "sandbox/egress/underway.h"

namespace sandbox::egress {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(asio::io_context& context, Socket accepted, const std::shared_ptr<Meter>& meter);

  Stream client;
  Stream upstream;
  std::string host;  // once it is known
  std::uint16_t port = 0;
  ByteCount sent;            // by the box
  ByteCount received;        // and to it
  bool looked_into = false;  // its requests are told of
  Clock::time_point began = Clock::now();
  std::shared_ptr<void> place;  // among those of all sessions
  std::shared_ptr<PrincipalShare> share;
  std::shared_ptr<void> place_of_principal;  // in the share, which outlives it
  Told told;                                 // used where nobody looks into it

  // From now on it closes after so long without a byte.
  void allow_silence(std::chrono::seconds most);
  void saw_bytes() { last_byte_ = Clock::now(); }
  void close();
  // Tells the client that nothing more comes; it has a few seconds to do the same.
  Task<void> end_client();
  // Between the two it closes within a second of the client's end, which nobody reads meanwhile.
  void watch_client();
  void leave_client() { is_watched_ = false; }
  // Returns, between two messages, whether it has neither ended nor said what nobody has asked for.
  [[nodiscard]] bool has_quiet_upstream();

  // Carries bytes both ways until both directions have ended; `first` has been read from the client
  // already. Calls `ended` once.
  void join(std::string first, std::function<void()> ended);

 private:
  Task<void> carry_secure(Stream& from, Stream& to, ByteCount& bytes, std::string first);
  Task<void> carry(Stream& from, Stream& to, ByteCount& bytes, std::string first);
  void look_later(Clock::time_point when);
  [[nodiscard]] bool has_client();

  asio::steady_timer timer_;
  Clock::time_point last_byte_ = Clock::now();
  std::chrono::seconds silence_most_{0};
  bool is_watched_ = false;
  int directions_ = 0;
  std::function<void()> ended_;
};

}  // namespace sandbox::egress
