#include "sandbox/egress/underway.h"

#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <nlohmann/json.hpp>

namespace sandbox::egress {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr milliseconds kUseTold{1000};  // at the latest
constexpr std::int64_t kUntoldBytesMax = 4 << 20;
constexpr seconds kCarriedTold{5};
constexpr int kToldAtOnce = 256;

}  // namespace

Underway::Underway(asio::io_context& context, std::shared_ptr<BoxEvents> events,
                   std::shared_ptr<Meter> meter)
    : events_(std::move(events)), meter_(std::move(meter)), timer_(context) {}

std::uint64_t Underway::begin(json event, Count count, Clock::time_point began) {
  if (is_over_) return 0;
  event["id"] = ++last_id_;
  items_.emplace(last_id_, Item{std::move(count), began, Clock::now(), {}});
  events_->tell(event);
  return last_id_;
}

void Underway::end(std::uint64_t id, json event) {
  const auto item = items_.find(id);
  if (item == items_.end()) return;
  event["id"] = id;
  add_carried(item->second, item->second.count(), event);
  items_.erase(item);
  events_->tell(event);
}

void Underway::add_carried(const Item& item, const Carried& carried, json& event) {
  event["sent"] = carried.sent;
  event["received"] = carried.received;
  event["ms"] = std::chrono::duration_cast<milliseconds>(Clock::now() - item.began).count();
  event["used"] = meter_->take_untold();
}

void Underway::tell_used() {
  const std::int64_t bytes = meter_->take_untold();
  if (bytes > 0 && !is_over_) events_->tell({{"event", "used"}, {"used", bytes}});
}

void Underway::count_soon() {
  // A box that takes nothing now is told of all together later.
  if (meter_->untold() >= kUntoldBytesMax && events_->has_told_all()) tell_used();
  if (is_over_ || std::exchange(is_timed_, true)) return;
  asio::co_spawn(
      timer_.get_executor(), [self = shared_from_this()] { return self->tell_in_time(); },
      asio::detached);
}

Task<void> Underway::tell_in_time() {
  bool is_quiet = false;
  // One round more than there are bytes, for what they were carried by.
  for (auto quiet_until = Clock::now(); !is_over_ && !is_quiet;) {
    timer_.expires_after(kUseTold);
    error_code woken;
    co_await timer_.async_wait(into(woken));
    if (is_over_ || !events_->has_told_all()) continue;
    if (meter_->untold() > 0) quiet_until = Clock::now() + kCarriedTold + kUseTold;
    tell_carried();
    tell_used();
    is_quiet = Clock::now() > quiet_until;
  }
  is_timed_ = false;
}

void Underway::tell_carried() {
  const auto now = Clock::now();
  int told = 0;
  auto item = items_.upper_bound(last_told_);
  for (std::size_t looked = 0; looked < items_.size() && told < kToldAtOnce; ++looked) {
    if (item == items_.end()) item = items_.begin();
    auto& [id, one] = *item++;
    if (now - one.told_at < kCarriedTold) continue;
    const Carried carried = one.count();
    if (carried == one.told) continue;
    one.told = carried;
    one.told_at = now;
    json event = {{"event", "carried"}, {"id", id}};
    add_carried(one, carried, event);
    events_->tell(event);
    last_told_ = id;
    ++told;
  }
}

void Underway::end_all() {
  if (is_over_) return;
  while (!items_.empty()) end(items_.begin()->first, {{"event", "closed"}});
  tell_used();
  is_over_ = true;
  timer_.cancel();
}

Told::~Told() {
  if (underway_) end({{"event", "closed"}});
}

void Told::begin(const std::shared_ptr<Underway>& underway, json event, Underway::Count count,
                 Underway::Clock::time_point began) {
  if (underway_) end({{"event", "closed"}});
  underway_ = underway;
  id_ = underway->begin(std::move(event), std::move(count), began);
}

void Told::end(json event) {
  if (const auto underway = std::exchange(underway_, nullptr)) {
    underway->end(id_, std::move(event));
  }
}

}  // namespace sandbox::egress
