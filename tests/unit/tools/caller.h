// Whoever calls a tool, in tests that have no connection.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/call_context.h"

namespace tools::fake {

class Caller final : public mcp::CallContext {
 public:
  Caller(std::string principal, std::string connection, std::vector<std::string> scopes = {})
      : principal_{std::move(principal), std::move(scopes)}, connection_(std::move(connection)) {}

  void set_age(std::chrono::milliseconds age) {
    received_at_ = std::chrono::steady_clock::now() - age;
  }

  std::chrono::steady_clock::time_point received_at() const override { return received_at_; }
  const mcp::Principal& principal() const override { return principal_; }
  std::stop_token cancelled() const override { return {}; }
  bool disconnected() const override { return false; }
  bool wants_progress() const override { return false; }
  void report_progress(double, std::optional<double>, const std::string&) override {}
  void log(mcp::LogLevel, const std::string&, nlohmann::json) override {}
  const std::string& connection_id() const override { return connection_; }
  mcp::wire::Revision revision() const override { return mcp::wire::Revision::k2025_11_25; }
  const mcp::ClientInfo& client() const override { return client_; }
  const nlohmann::json& client_capabilities() const override { return capabilities_; }
  const std::string& trace_parent() const override { return trace_; }
  std::variant<nlohmann::json, mcp::NoAnswer> ask_client(const std::string&, nlohmann::json,
                                                         std::chrono::milliseconds) override {
    return mcp::NoAnswer{};
  }
  const nlohmann::json& input_responses() const override { return none_; }
  const nlohmann::json& request_state() const override { return none_; }
  mcp::TaskWish task_wish() const override { return mcp::TaskWish::kImpossible; }
  std::optional<std::chrono::milliseconds> task_ttl() const override { return std::nullopt; }

 private:
  const nlohmann::json none_;
  const mcp::Principal principal_;
  const std::string connection_;
  const mcp::ClientInfo client_;
  const nlohmann::json capabilities_ = nlohmann::json::object();
  const std::string trace_;
  std::chrono::steady_clock::time_point received_at_ = std::chrono::steady_clock::now();
};

}  // namespace tools::fake
