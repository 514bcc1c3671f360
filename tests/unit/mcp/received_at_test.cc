// A call knows when its request came, however long it waited for a thread.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unit/mcp/fake_client.h"
#include "tests/unit/mcp/fake_tools.h"

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

TEST(ReceivedAt, IsBeforeTheWaitForAThread) {
  mcp::Server server({"hutch", "hutch", "1", ""});
  Clock::time_point told;
  server.add_tool(mcp::fake::make_tool("when", [&](const json&, mcp::CallContext& context) {
    told = context.received_at();
    return mcp::fake::text_result("");
  }));
  std::function<void()> waits;
  mcp::Connection connection(
      server,
      {.id = "c", .principal = {"somebody", {}}, .run = [&waits](std::function<void()> work) {
         waits = std::move(work);
         return true;
       }});
  mcp::fake::Sent sent;
  const auto before = Clock::now();
  const json request = {{"jsonrpc", "2.0"},
                        {"id", 1},
                        {"method", "tools/call"},
                        {"params", mcp::fake::Client::modern({{"name", "when"}})}};
  connection.receive(request.dump(), sent.exchange);
  const auto came = Clock::now();
  ASSERT_TRUE(waits);
  while (Clock::now() <= came) std::this_thread::yield();
  waits();
  waits = nullptr;
  EXPECT_TRUE(sent.at(0).contains("result")) << sent.at(0);
  EXPECT_GE(told, before);
  EXPECT_LE(told, came);
}

}  // namespace
