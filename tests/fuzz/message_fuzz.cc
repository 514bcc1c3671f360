// Reads what a client sends: lines through one connection of a server with a tool.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "mcp/connection.h"

namespace {

mcp::Server make_server() {
  mcp::Server server({"fuzz", "Fuzz", "1", ""});
  mcp::Tool tool;
  tool.name = "echo";
  tool.input_schema = nlohmann::json{{"type", "object"}};
  tool.call = [](const nlohmann::json& arguments, mcp::CallContext& context) {
    context.report_progress(1, std::nullopt, "half");
    mcp::ToolResult result;
    result.content->push_back({{"type", "text"}, {"text", mcp::print(arguments)}});
    return result;
  };
  server.add_tool(tool);
  return server;
}

// Whatever came in, what goes out is one line of JSON, and every message comes to its end.
class Checked final : public mcp::Exchange {
 public:
  void send(const nlohmann::json& message) override {
    if (mcp::print(message).find('\n') != std::string::npos) std::abort();
  }
  void send_if_room(const nlohmann::json& message) override { send(message); }
  void end() noexcept override { ++ends; }

  int ends = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const mcp::Server kServer = make_server();
  const auto exchange = std::make_shared<Checked>();
  mcp::Connection connection(kServer,
                             {.id = "fuzz", .principal = {"fuzz", {}}, .run = [](const auto& work) {
                                work();
                                return true;
                              }});
  int messages = 0;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    connection.receive(rest.substr(0, end), exchange);
    ++messages;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (connection.open_requests() != 0 || exchange->ends != messages) std::abort();
  return 0;
}
