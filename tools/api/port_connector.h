// Connects clients of the HTTP server with servers in sessions, once there are some. Safe from any
// thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mcp/http/budget.h"
#include "mcp/http/message.h"
#include "sessions/session.h"
#include "tools/ports/head.h"
#include "tools/ports/pump.h"
#include "tools/tools.h"

namespace tools::api {

class PortConnector {
 public:
  // Nobody gets one of them that would give it more than are left.
  static constexpr std::size_t kOpenMost = 512;
  static constexpr std::size_t kAnswersMost = 128;  // refusals that are not read yet
  static constexpr std::size_t kVisitsMost = 256;   // by the principals whose ports are visited
  static constexpr std::size_t kOpenOfOnePortMost = 64;
  static_assert(kOpenMost + kAnswersMost + kVisitsMost <= ports::Pump::kPairsMax);

  explicit PortConnector(const Services& services) : services_(services) {}
  ~PortConnector();
  PortConnector(const PortConnector&) = delete;
  PortConnector& operator=(const PortConnector&) = delete;

  // It stands for all who come in because a port is public: they take no room of those who have a
  // right of their own.
  static constexpr const char* kVisitors = "visitors of public ports";

  // `taken` has been let in, as `who`: a principal or kVisitors. What cannot be done is its answer.
  void connect(const sessions::Session& session, const ports::Inward& how, mcp::http::Taken taken,
               const std::string& who);
  // Waits for nobody. `who` is the principal that is answered.
  void answer(const std::string& who, const mcp::http::Taken& taken, int status,
              const std::string& text,
              const std::vector<std::pair<std::string, std::string>>& headers = {});

 private:
  struct InUse {
    sessions::Session session;
    std::shared_ptr<std::atomic<bool>> moved;  // shared with its pairs, while there are any
  };

  base::Status try_to_connect(const sessions::Session& session, const ports::Inward& how,
                              const mcp::http::Taken& taken, const std::string& who);
  base::Result<ports::Pump*> running_pump();
  // Sessions whose connections move bytes are in use.
  void keep_awake(const std::stop_token& stop);
  std::vector<sessions::Session> sessions_in_use();

  const Services& services_;
  const std::shared_ptr<mcp::http::FairBudget> open_ =
      std::make_shared<mcp::http::FairBudget>(kOpenMost);
  const std::shared_ptr<mcp::http::FairBudget> visits_ =
      std::make_shared<mcp::http::FairBudget>(kVisitsMost);
  const std::shared_ptr<mcp::http::FairBudget> of_ports_ =
      std::make_shared<mcp::http::FairBudget>(kOpenMost, kOpenOfOnePortMost);
  const std::shared_ptr<mcp::http::FairBudget> of_visited_ports_ =
      std::make_shared<mcp::http::FairBudget>(kVisitsMost, kOpenOfOnePortMost);
  const std::shared_ptr<mcp::http::FairBudget> answers_ =
      std::make_shared<mcp::http::FairBudget>(kAnswersMost);
  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  std::map<std::string, InUse> in_use_;  // by the session's id
  std::unique_ptr<ports::Pump> pump_;
  std::jthread keeper_;
};

}  // namespace tools::api
