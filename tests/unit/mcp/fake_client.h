// A client of a connection in the same process: each message has an exchange of its own, calls run
// on threads, and what comes back is waited for.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/connection.h"
#include "tests/unit/mcp/fake_exchange.h"

namespace mcp::fake {

// A Sent holds what one exchange was sent.
class Sent {
 public:
  std::shared_ptr<FakeExchange> exchange =
      std::make_shared<FakeExchange>([this](const nlohmann::json& message) { add(message); });

  void add(const nlohmann::json& message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(message);
    changed_.notify_all();
  }
  nlohmann::json at(std::size_t index) {
    std::unique_lock lock(mutex_);
    const auto there = [&] { return messages_.size() > index; };
    if (!changed_.wait_for(lock, std::chrono::seconds(10), there)) {
      ADD_FAILURE() << "nothing was sent";
      return nullptr;
    }
    return messages_[index];
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return messages_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<nlohmann::json> messages_;
};

class Client {
 public:
  explicit Client(const Server& server, std::string principal_id = "somebody",
                  std::vector<std::string> scopes = {})
      : connection(server, {.id = "c",
                            .principal = {std::move(principal_id), std::move(scopes)},
                            .run =
                                [this](std::function<void()> work) {
                                  const std::lock_guard lock(mutex_);
                                  threads_.emplace_back(std::move(work));
                                  return true;
                                },
                            .unsolicited = [this](const auto& message) { told.add(message); }}) {}
  ~Client() {
    connection.cancel_requests();
    wait();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Until all calls have ended.
  void wait() {
    std::vector<std::jthread> all;
    {
      const std::lock_guard lock(mutex_);
      all.swap(threads_);
    }
  }

  void send(const nlohmann::json& message, Sent& sent) {
    connection.receive(message.dump(), sent.exchange);
  }
  void send(const nlohmann::json& id, const std::string& method, nlohmann::json params,
            Sent& sent) {
    send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}}, sent);
  }
  void notify(const std::string& method, nlohmann::json params) {
    Sent nothing;
    send({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}}, nothing);
    EXPECT_EQ(nothing.count(), 0U);
  }
  // The last message of it: result or error.
  nlohmann::json ask(const std::string& method, nlohmann::json params = nlohmann::json::object()) {
    Sent sent;
    send(++last_id_, method, std::move(params), sent);
    wait();
    EXPECT_GT(sent.count(), 0U) << method;
    EXPECT_EQ(sent.exchange->ends, 1) << method;
    return sent.at(sent.count() - 1);
  }
  void initialize(const std::string& revision,
                  nlohmann::json capabilities = nlohmann::json::object()) {
    const auto reply = ask(
        "initialize", {{"protocolVersion", revision}, {"capabilities", std::move(capabilities)}});
    EXPECT_EQ(reply["result"]["protocolVersion"], revision);
  }
  // Parameters of a request of the newest revision.
  static nlohmann::json modern(nlohmann::json params,
                               nlohmann::json capabilities = nlohmann::json::object()) {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = std::move(capabilities);
    return params;
  }

  Sent told;  // without having been asked for

 private:
  std::mutex mutex_;
  std::vector<std::jthread> threads_;
  int last_id_ = 1000;

 public:
  Connection connection;  // goes first
};

}  // namespace mcp::fake
