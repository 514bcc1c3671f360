// BoxEvents tells a box of its session's connections, in order. A box that does not take the events
// keeps its own connections waiting; refusals that come too fast are told of by their number.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json_fwd.hpp>

#include "sandbox/egress/asio.h"

namespace sandbox::egress {

// Refused says why something was refused, as NetworkUse::Refusal does.
struct Refused {
  std::string reason;
  std::string missing_rule = {};
  bool host_is_allowed = false;
};

// AskedFor holds the method and the path that the host was asked for. Both are empty where nobody
// has looked.
struct AskedFor {
  AskedFor() = default;
  // Keeps as much of both as an event has room for, without what follows "?": keys of the code's
  // own are there.
  AskedFor(std::string_view whole_method, std::string_view whole_path)
      : method(whole_method.substr(0, 32)),
        path(whole_path.substr(0, std::min<std::size_t>(2048, whole_path.find('?')))) {}

  std::string method;
  std::string path;
};

class BoxEvents : public std::enable_shared_from_this<BoxEvents> {
 public:
  using Channel = asio::posix::stream_descriptor;

  // `box` is one end of a SOCK_SEQPACKET connection.
  BoxEvents(asio::io_context& context, std::shared_ptr<Channel> box);

  void tell(const nlohmann::json& event);
  // Tells of one refusal, or counts it where code asks for what is refused faster than anybody
  // reads it.
  void tell_refusal(const std::string& host, std::uint16_t port, const Refused& why,
                    const AskedFor& asked);
  // Tells how many refusals were counted and not told of yet, if any.
  void tell_count();
  // Waits until the box has taken all, or has gone. For whoever is about to have more to tell.
  Task<void> taken();
  [[nodiscard]] bool has_told_all() const { return waiting_.empty(); }

 private:
  using Clock = std::chrono::steady_clock;

  bool send_now(const std::string& packet);
  Task<void> send_rest();
  Task<void> tell_count_soon();

  std::shared_ptr<Channel> box_;
  std::deque<std::string> waiting_;
  asio::steady_timer all_taken_;
  double refusals_left_;
  std::int64_t refusals_counted_ = 0;  // that the box has not been told of
  bool is_counting_ = false;
  Clock::time_point counted_at_ = Clock::now();
};

}  // namespace sandbox::egress
