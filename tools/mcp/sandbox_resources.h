// Files of sessions, and what was shared, as resources.
#pragma once

#include "mcp/resources.h"
#include "tools/mcp/change_watch.h"
#include "tools/tools.h"

namespace tools {

class SandboxResources final : public mcp::ResourceProvider {
 public:
  SandboxResources(const Services& services, ChangeWatch& watch)
      : services_(services), watch_(watch) {}

  // Lists what was shared, then what the newest runs have written.
  std::optional<mcp::Page> list(const std::string& cursor, mcp::CallContext& context) override;
  nlohmann::json templates() override;
  mcp::ReadAnswer read(const std::string& uri, mcp::CallContext& context) override;
  std::optional<mcp::Completion> complete(const std::string& uri_template,
                                          const mcp::CompletionQuery& query,
                                          mcp::CallContext& context) override;
  [[nodiscard]] bool completes() const override { return true; }
  [[nodiscard]] bool can_subscribe() const override { return true; }
  [[nodiscard]] bool can_watch(const std::string& uri) const override;
  [[nodiscard]] bool list_may_change() const override { return true; }
  void watch(const std::string& principal_id, const std::string& uri) override;
  void unwatch(const std::string& principal_id, const std::string& uri) override;
  void settle(const std::string& principal_id) override;

 private:
  void add_shared(const std::string& principal_id, nlohmann::json& items) const;
  void add_written(const std::string& principal_id, nlohmann::json& items) const;
  mcp::ReadAnswer read_shared(const std::string& uri, const std::string& path,
                              const std::string& principal_id) const;
  mcp::Completion complete_path(const mcp::CompletionQuery& query,
                                const std::string& principal_id) const;

  const Services services_;
  ChangeWatch& watch_;
};

}  // namespace tools
