// Underway knows what a box has been told the beginning of and not yet the end: connections that
// nobody looks into, and requests. From time to time it tells the box what each has carried until
// then, and all bytes of its session, so that a box that dies has lost little.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json_fwd.hpp>

#include "sandbox/egress/asio.h"
#include "sandbox/egress/box_events.h"
#include "sandbox/egress/meter.h"

namespace sandbox::egress {

class Underway : public std::enable_shared_from_this<Underway> {
 public:
  using Clock = std::chrono::steady_clock;
  struct Carried {
    std::int64_t sent = 0;
    std::int64_t received = 0;
    friend bool operator==(const Carried&, const Carried&) = default;
  };
  using Count = std::function<Carried()>;

  Underway(asio::io_context& context, std::shared_ptr<BoxEvents> events,
           std::shared_ptr<Meter> meter);

  // Tells the box of a beginning by `event`, and returns an id for its end. `count` is asked until
  // then.
  std::uint64_t begin(nlohmann::json event, Count count, Clock::time_point began);
  // Tells the box of the end by `event`, to which is added what is known here. Does nothing when it
  // has ended before.
  void end(std::uint64_t id, nlohmann::json event);
  // Bytes have come that the box has not been told of.
  void count_soon();
  void tell_used();
  // Ends all that are under way, as they are; nothing is told of from now on.
  void end_all();

 private:
  struct Item {
    Count count;
    Clock::time_point began;
    Clock::time_point told_at;
    Carried told;
  };

  Task<void> tell_in_time();
  void tell_carried();
  void add_carried(const Item& item, const Carried& carried, nlohmann::json& event);

  std::shared_ptr<BoxEvents> events_;
  std::shared_ptr<Meter> meter_;
  asio::steady_timer timer_;
  std::map<std::uint64_t, Item> items_;
  std::uint64_t last_id_ = 0;
  std::uint64_t last_told_ = 0;  // in turns, where there are many
  bool is_timed_ = false;
  bool is_over_ = false;
};

// A Told is one of them. What nobody has ended ends with it.
class Told {
 public:
  Told() = default;
  ~Told();
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  void begin(const std::shared_ptr<Underway>& underway, nlohmann::json event, Underway::Count count,
             Underway::Clock::time_point began);
  // Its kind is "closed" or "request".
  void end(nlohmann::json event);
  [[nodiscard]] bool has_begun() const { return underway_ != nullptr; }

 private:
  std::shared_ptr<Underway> underway_;  // null: it has not begun, or has ended
  std::uint64_t id_ = 0;
};

}  // namespace sandbox::egress
