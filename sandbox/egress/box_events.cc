#include "sandbox/egress/box_events.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace sandbox::egress {
namespace {

constexpr double kRefusalsAtOnce = 200;
constexpr double kRefusalsPerSecond = 50;
constexpr std::chrono::seconds kCountedFor{1};

}  // namespace

BoxEvents::BoxEvents(asio::io_context& context, std::shared_ptr<Channel> box)
    : box_(std::move(box)),
      all_taken_(context, Clock::time_point::max()),
      refusals_left_(kRefusalsAtOnce) {}

void BoxEvents::tell(const nlohmann::json& event) {
  std::string packet = base::print_json(event);
  if (!box_->is_open() || (waiting_.empty() && send_now(packet))) return;
  waiting_.push_back(std::move(packet));
  if (waiting_.size() > 1) return;
  asio::co_spawn(
      box_->get_executor(), [self = shared_from_this()] { return self->send_rest(); },
      asio::detached);
}

void BoxEvents::tell_refusal(const std::string& host, std::uint16_t port, const Refused& why,
                             const AskedFor& asked) {
  const auto now = Clock::now();
  const std::chrono::duration<double> since = now - std::exchange(counted_at_, now);
  refusals_left_ = std::min(kRefusalsAtOnce, refusals_left_ + since.count() * kRefusalsPerSecond);
  if (refusals_left_ < 1 || !waiting_.empty()) {
    ++refusals_counted_;
    if (std::exchange(is_counting_, true)) return;
    return asio::co_spawn(
        box_->get_executor(), [self = shared_from_this()] { return self->tell_count_soon(); },
        asio::detached);
  }
  refusals_left_ -= 1;
  nlohmann::json event = {{"event", "refused"},     {"host", host},       {"port", port},
                          {"method", asked.method}, {"path", asked.path}, {"reason", why.reason}};
  if (!why.missing_rule.empty()) event["missing_rule"] = why.missing_rule;
  if (why.host_is_allowed) event["host_is_allowed"] = true;
  tell(event);
}

// One line a second, however many they are.
Task<void> BoxEvents::tell_count_soon() {
  asio::steady_timer timer(box_->get_executor());
  while (refusals_counted_ > 0 && box_->is_open()) {
    timer.expires_after(kCountedFor);
    error_code unused;
    co_await timer.async_wait(into(unused));
    if (waiting_.empty()) tell_count();
  }
  is_counting_ = false;
}

void BoxEvents::tell_count() {
  const std::int64_t count = std::exchange(refusals_counted_, 0);
  if (count > 0) tell({{"event", "refused"}, {"more", count}});
}

Task<void> BoxEvents::taken() {
  const auto self = shared_from_this();
  error_code woken;
  while (!waiting_.empty() && box_->is_open()) co_await all_taken_.async_wait(into(woken));
}

// False: it does not take it now.
bool BoxEvents::send_now(const std::string& packet) {
  constexpr int kHow = MSG_DONTWAIT | MSG_NOSIGNAL;
  if (::send(box_->native_handle(), packet.data(), packet.size(), kHow) >= 0) return true;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
  error_code unused;
  box_->close(unused);  // it has gone, and the session ends with it
  return true;
}

Task<void> BoxEvents::send_rest() {
  error_code failure;
  while (!waiting_.empty() && box_->is_open()) {
    co_await box_->async_wait(Channel::wait_write, into(failure));
    if (failure) break;
    if (send_now(waiting_.front())) waiting_.pop_front();
  }
  waiting_.clear();
  all_taken_.cancel();
}

}  // namespace sandbox::egress
