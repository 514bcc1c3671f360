#include "sandbox/egress/credentials.h"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace sandbox::egress {
namespace {

// A value that was changed is in use this much later, without a new session.
constexpr std::chrono::seconds kHeldFor{5};
constexpr std::chrono::seconds kValuePatience{20};
constexpr std::size_t kAnswerBytesMax = 64 * 1024;

}  // namespace

Credentials::Credentials(asio::io_context& context, Ask ask)
    : context_(context),
      ask_(std::move(ask)),
      arrived_(std::make_shared<asio::steady_timer>(context, Clock::time_point::max())) {}

std::vector<const Credential*> Credentials::of(const std::string& host, std::uint16_t port) const {
  std::vector<const Credential*> found;
  for (const Credential& credential : all_) {
    if (allows(credential.host, host, port)) found.push_back(&credential);
  }
  return found;
}

Task<Credentials::Value> Credentials::value_of(const std::string& name) {
  const auto deadline = Clock::now() + kValuePatience;
  while (true) {
    Held& held = held_[name];
    if (Clock::now() < held.until) co_return held.value;
    if (Clock::now() >= deadline) {
      held.is_asked = false;
      Value none;
      none.reason = "its value did not come in time";
      co_return none;
    }
    if (!std::exchange(held.is_asked, true)) ask_(name);
    error_code woken;
    asio::steady_timer limit(context_, deadline);
    limit.async_wait([waiting = std::weak_ptr(arrived_)](error_code failure) {
      const auto timer = waiting.lock();
      if (!failure && timer) timer->cancel();
    });
    co_await arrived_->async_wait(into(woken));
  }
}

Task<void> Credentials::take(std::string name, base::UniqueFd pipe) {
  Value value = co_await read(std::move(pipe));
  held_[name] = {std::move(value), Clock::now() + kHeldFor, false};
  arrived_->cancel();
}

Task<Credentials::Value> Credentials::read(base::UniqueFd pipe) {
  Value value;
  value.reason = "hutch does not hand it over";
  if (!pipe.valid()) co_return value;
  asio::posix::stream_descriptor stream(context_, pipe.release());
  std::string bytes(kAnswerBytesMax, '\0');
  error_code failure;
  const std::size_t size = co_await asio::async_read(stream, asio::buffer(bytes), into(failure));
  if (failure != asio::error::eof) co_return value;
  bytes.resize(size);
  const auto answer = base::parse_json(bytes);
  if (!answer.ok() || !answer.value().is_object()) co_return value;
  value.text = base::string_or(answer.value(), "value");
  value.reason = value.text.empty() ? base::string_or(answer.value(), "error", value.reason) : "";
  co_return value;
}

}  // namespace sandbox::egress
