// Ends of an exchange with nothing behind them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mcp/http/library.h"
#include "mcp/http/message.h"
#include "mcp/http/status.h"

namespace mcp::http {

class NoBody final : public BodySource {
 public:
  std::size_t read(char*, std::size_t) override { return 0; }
  void write_now(std::string_view) override {}
  bool keep(std::size_t) override { return false; }
  [[nodiscard]] int failure() const override { return kBadRequest; }
};

// Answers nothing: for a look at what the library makes of a header.
class NoHandler final : public Handler {
 public:
  explicit NoHandler(std::string& seen) : seen_(seen) {}
  std::optional<Body> admit(Request& head, Response&) override {
    seen_ = head.header("Probe");
    return std::nullopt;
  }
  Response refused(const Request&, int, const std::string&) override { return {}; }
  Response handle(Request) override { return {}; }
  void answered(const Request&, int, bool) override {}

 private:
  std::string& seen_;
};

}  // namespace mcp::http
