// A Call is one request that is being answered: what it asks, on whose behalf, and what its handler
// sees of the connection.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "mcp/call_context.h"
#include "mcp/client_requests.h"
#include "mcp/exchange.h"
#include "base/json_value.h"
#include "mcp/message.h"
#include "mcp/wire/revision.h"

namespace mcp {

// A Request is on its way to its answer.
struct Request {
  Message message;
  const wire::Format& format;
  ClientInfo client;
  base::JsonValue capabilities = base::JsonValue::object();  // the client's
  std::optional<LogLevel> log_level;                         // set by a modern request
  std::size_t bytes = 0;                                     // the size of its text
  std::chrono::steady_clock::time_point received_at = std::chrono::steady_clock::now();
};

class Subscriptions;
class TaskFollowers;

// Holds what all requests of one connection share.
struct Surroundings {
  std::string connection_id;
  Principal principal;
  std::atomic<bool> disconnected = false;
  bool logging = false;                               // the server has it enabled
  std::atomic<LogLevel> log_level = LogLevel::kInfo;  // for legacy requests
  ClientRequests client_requests;
  Subscriptions* subscriptions = nullptr;
  TaskFollowers* followers = nullptr;
};

class Call final : public CallContext {
 public:
  // `request` and `surroundings` outlive the call.
  Call(const Request& request, Surroundings& surroundings, std::shared_ptr<Exchange> exchange,
       std::stop_token stop);

  [[nodiscard]] const nlohmann::json& params() const { return request_.message.params; }
  [[nodiscard]] const std::string& method() const { return request_.message.method; }
  [[nodiscard]] const nlohmann::json& id() const { return request_.message.id; }
  [[nodiscard]] const wire::Format& format() const { return request_.format; }
  [[nodiscard]] Surroundings& surroundings() { return surroundings_; }
  void begin_round(nlohmann::json responses, nlohmann::json state);
  [[nodiscard]] const nlohmann::json& progress_token() const { return progress_token_; }
  void set_task_wish(TaskWish wish) { task_wish_ = wish; }
  // The answer given now is none: the call is made again when this task has changed.
  void await_task(const std::string& id) { awaited_task_ = id; }
  [[nodiscard]] const std::string& awaited_task() const { return awaited_task_; }

  [[nodiscard]] std::chrono::steady_clock::time_point received_at() const override {
    return request_.received_at;
  }
  [[nodiscard]] const Principal& principal() const override { return surroundings_.principal; }
  [[nodiscard]] std::stop_token cancelled() const override { return stop_; }
  [[nodiscard]] bool disconnected() const override { return surroundings_.disconnected; }
  [[nodiscard]] bool wants_progress() const override;
  void report_progress(double progress, std::optional<double> total,
                       const std::string& message) override;
  void log(LogLevel level, const std::string& logger, nlohmann::json data) override;
  [[nodiscard]] const std::string& connection_id() const override {
    return surroundings_.connection_id;
  }
  [[nodiscard]] wire::Revision revision() const override { return request_.format.revision; }
  [[nodiscard]] const ClientInfo& client() const override { return request_.client; }
  [[nodiscard]] const nlohmann::json& client_capabilities() const override {
    return request_.capabilities;
  }
  [[nodiscard]] std::string request_id() const override { return exchange_->request_id(); }
  [[nodiscard]] const std::string& trace_parent() const override { return trace_parent_; }
  std::variant<nlohmann::json, NoAnswer> ask_client(const std::string& method,
                                                    nlohmann::json params,
                                                    std::chrono::milliseconds timeout) override;
  [[nodiscard]] const nlohmann::json& input_responses() const override { return responses_; }
  [[nodiscard]] const nlohmann::json& request_state() const override { return state_; }
  [[nodiscard]] TaskWish task_wish() const override { return task_wish_; }
  [[nodiscard]] std::optional<std::chrono::milliseconds> task_ttl() const override;

 private:
  [[nodiscard]] bool wants_log(LogLevel level) const;

  const Request& request_;
  Surroundings& surroundings_;
  const std::shared_ptr<Exchange> exchange_;
  const std::stop_token stop_;
  const base::JsonValue progress_token_;
  const std::string trace_parent_;
  std::optional<double> last_progress_;
  base::JsonValue responses_ = base::JsonValue::object();
  base::JsonValue state_;
  TaskWish task_wish_ = TaskWish::kImpossible;
  std::string awaited_task_;
};

}  // namespace mcp
