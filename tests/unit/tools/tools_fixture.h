// All tools over a fake sandbox, with a store and shares in a directory of their own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sessions/manager.h"
#include "sessions/manager_config.h"
#include "sessions/store.h"
#include "tests/unit/tools/fake_sandbox.h"
#include "tools/mcp/tool_kit.h"

namespace tools::fake {

class ToolsFixture : public ::testing::Test {
 protected:
  ToolsFixture() : directory_(::testing::TempDir() + "hutch_tools_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    store_ = sessions::Store::open(directory_ + "/hutch.db").value();
    share_.emplace(
        share::FileShare::open(directory_ + "/shared", store_->shares, store_->upkeep).value());
    sessions::ManagerConfig config;
    config.state_directory = directory_;
    config.most_limits = sandbox::widest_limits();
    manager_ = sessions::Manager::open(config, *store_, sandbox_).value();
    const Services services{manager_->services(), *share_, ""};
    for (auto make : {&run_tools, &file_tools, &session_tools}) {
      for (mcp::Tool& tool : make(services)) tools_.emplace(tool.name, std::move(tool));
    }
    for (auto make : {&share_tool, &share_port, &install_tool}) {
      mcp::Tool tool = make(services);
      tools_.emplace(tool.name, std::move(tool));
    }
  }
  ~ToolsFixture() override {
    manager_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string directory_;
  sandbox::fake::FakeSandbox sandbox_;
  std::unique_ptr<sessions::Store> store_;
  std::optional<share::FileShare> share_;
  std::unique_ptr<sessions::Manager> manager_;
  std::map<std::string, mcp::Tool> tools_;
};

}  // namespace tools::fake
