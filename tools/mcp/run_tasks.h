// Runs as tasks: the run table is the task table, a run_id the id of a task.
#pragma once

#include "mcp/tasks.h"
#include "tools/mcp/change_watch.h"
#include "tools/tools.h"

namespace tools {

class RunTasks final : public mcp::TaskSource {
 public:
  RunTasks(const Services& services, ChangeWatch& watch) : services_(services), watch_(watch) {}

  std::optional<mcp::Task> find(const mcp::Principal& principal, const std::string& id) override;
  std::optional<mcp::TaskOutcome> outcome(const mcp::Principal& principal,
                                          const std::string& id) override;
  bool cancel(const mcp::Principal& principal, const std::string& id) override;
  // A run asks for nothing.
  void update(const mcp::Principal&, const std::string&, const nlohmann::json&) override {}
  std::optional<mcp::TaskPage> list(const mcp::Principal& principal,
                                    const std::string& cursor) override;
  void watch(const std::string& principal_id, const std::string& id) override;
  void unwatch(const std::string& principal_id, const std::string& id) override;
  void settle(const std::string& principal_id) override { watch_.settle(principal_id); }

 private:
  const Services services_;
  ChangeWatch& watch_;
};

}  // namespace tools
