// Every request comes through here: the door, then the route, then the log.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "mcp/http/door.h"
#include "mcp/http/message.h"
#include "mcp/http/metrics.h"
#include "mcp/http/serve.h"

namespace mcp::http {

class Endpoint final : public Handler {
 public:
  Endpoint(DoorOptions door, std::vector<Route> routes,
           std::function<void(const AccessRecord&)> on_access)
      : door_(std::move(door)), routes_(std::move(routes)), on_access_(std::move(on_access)) {}

  bool admit(Request& head, Response& refusal) override;
  Response handle(Request request) override;
  void answered(const Request& request, int status, bool streams) override;

  [[nodiscard]] const RequestMetrics& metrics() const { return metrics_; }

 private:
  [[nodiscard]] const Route* find(const Request& request) const;

  const Door door_;
  const std::vector<Route> routes_;
  const std::function<void(const AccessRecord&)> on_access_;
  RequestMetrics metrics_;
};

}  // namespace mcp::http
