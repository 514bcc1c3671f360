#include "mcp/call.h"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/client_capabilities.h"
#include "mcp/request_meta.h"
#include "mcp/wire/shape.h"
#include "mcp/worker_pool.h"

namespace mcp {

using nlohmann::json;

Call::Call(const Request& request, Surroundings& surroundings, std::shared_ptr<Exchange> exchange,
           std::stop_token stop)
    : request_(request),
      surroundings_(surroundings),
      exchange_(std::move(exchange)),
      stop_(std::move(stop)),
      progress_token_(mcp::progress_token(request.message.params)),
      trace_parent_(mcp::trace_parent(request.message.params)) {}

void Call::report_progress(double progress, std::optional<double> total,
                           const std::string& message) {
  if (!wants_progress() || stop_.stop_requested() || !std::isfinite(progress)) return;
  // The protocol forbids a value that did not grow.
  if (last_progress_ && progress <= *last_progress_) return;
  last_progress_ = progress;
  exchange_->send_if_room(make_notification(
      "notifications/progress",
      wire::shape_progress(progress_token_, progress, total, message, request_.format)));
}

bool Call::wants_progress() const { return !progress_token_->is_null(); }

void Call::begin_round(json responses, json state) {
  responses_ = std::move(responses);
  state_ = std::move(state);
}

std::optional<std::chrono::milliseconds> Call::task_ttl() const {
  if (task_wish_ != TaskWish::kDemanded) return std::nullopt;
  const json ttl = params().at("task").value("ttl", json());
  if (!ttl.is_number_integer() || ttl < 0) return std::nullopt;
  return std::chrono::milliseconds(ttl.get<std::int64_t>());
}

bool Call::wants_log(LogLevel level) const {
  if (!surroundings_.logging) return false;
  if (request_.format.modern) return request_.log_level && level >= *request_.log_level;
  return level >= surroundings_.log_level;
}

void Call::log(LogLevel level, const std::string& logger, json data) {
  if (!wants_log(level) || stop_.stop_requested()) return;
  json params = {{"level", name_of(level)}};
  params["data"] = std::move(data);
  if (!logger.empty()) params["logger"] = logger;
  exchange_->send_if_room(make_notification("notifications/message", std::move(params)));
}

std::variant<json, NoAnswer> Call::ask_client(const std::string& method, json params,
                                              std::chrono::milliseconds timeout) {
  using Why = NoAnswer::Why;
  if (request_.format.modern) return NoAnswer{Why::kNotPossible, "this revision has no questions"};
  if (!missing_capability(request_.capabilities, method, params).is_null()) {
    return NoAnswer{Why::kNotPossible, "the client did not declare " + method};
  }
  if (stop_.stop_requested()) return NoAnswer{Why::kCancelled, "the call was cancelled"};
  const json id = surroundings_.client_requests.open();
  json question = make_notification(method, std::move(params));
  question["id"] = id;
  exchange_->send(question);
  auto answer = [&] {
    const WorkerPool::Aside aside;
    return surroundings_.client_requests.wait(id, timeout, stop_);
  }();
  if (answer) {
    if (auto* error = std::get_if<RpcError>(&*answer)) {
      return NoAnswer{Why::kRefused, std::move(error->message)};
    }
    return std::move(*std::get<base::JsonValue>(*answer));
  }
  const bool cancelled = stop_.stop_requested();
  const char* why = cancelled ? "the call was cancelled" : "no answer in time";
  // So that the client may stop asking its user.
  exchange_->send_if_room(
      make_notification("notifications/cancelled", {{"requestId", id}, {"reason", why}}));
  return NoAnswer{cancelled ? Why::kCancelled : Why::kTimeout, why};
}

}  // namespace mcp
