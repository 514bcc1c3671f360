// An exchange that gives what is sent to a function, and counts its ends.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/exchange.h"

namespace mcp::fake {

class FakeExchange final : public Exchange {
 public:
  explicit FakeExchange(std::function<void(const nlohmann::json&)> take) : take_(std::move(take)) {}
  void send(const nlohmann::json& message) override { take_(message); }
  void send_if_room(const nlohmann::json& message) override { take_(message); }
  void end() noexcept override { ++ends; }

  std::atomic<int> ends = 0;

 private:
  const std::function<void(const nlohmann::json&)> take_;
};

}  // namespace mcp::fake
