// Every request comes through here: the door, then the route, then the log.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mcp/http/budget.h"
#include "mcp/http/door.h"
#include "mcp/http/message.h"
#include "mcp/http/metrics.h"
#include "mcp/http/service.h"

namespace mcp::http {

class Endpoint final : public Handler {
 public:
  struct Options {
    DoorOptions door;
    std::function<std::optional<auth::Challenge>(const Principal&, Route::Access)>
        may_ask;  // null: all may
    // Does the work for a principal on another thread. False: too much waits.
    std::function<bool(const std::string& principal_id, std::function<void()> work)> run;
    // Returns in how many seconds a principal may call again that calls too often; it may be null.
    std::function<std::optional<int>(const std::string& principal_id)> too_often;
    std::shared_ptr<FairBudget> waiting_bytes;  // bodies that wait for it
    std::function<void(const AccessRecord&)> on_access;
  };

  Endpoint(Options options, std::vector<Route> routes)
      : options_(std::move(options)), door_(options_.door), routes_(std::move(routes)) {}

  std::optional<Body> admit(Request& head, Response& refusal) override;
  Response refused(const Request& head, int status, const std::string& why) override;
  Response handle(Request request) override;
  void answered(const Request& request, int status, bool streams) override;

  [[nodiscard]] const RequestMetrics& metrics() const { return metrics_; }
  void change_names(DoorNames names) { door_.change_names(std::move(names)); }

 private:
  bool come_in(Request& head, const Routes::Found& found, Response& refusal) const;
  [[nodiscard]] Response answer(const Route& route, const Request& request) const;
  [[nodiscard]] std::function<void(Taken)> take_over(const Route& route, const Request& head) const;
  [[nodiscard]] Response answer_later(const Route& route, Request request) const;

  const Options options_;
  Door door_;
  const Routes routes_;
  RequestMetrics metrics_;
};

}  // namespace mcp::http
