// Last-Event-ID, and what a session's log makes of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "mcp/http/event_log.h"
#include "mcp/http/sse.h"

namespace {

class Counter final : public mcp::http::Stream {
 public:
  bool send(std::string) override { return ++events < 1000; }
  bool send_patiently(std::string bytes) override { return send(std::move(bytes)); }
  [[nodiscard]] bool has_room() const override { return true; }
  void break_off() override {}
  void close() override { closed = true; }
  void on_gone(std::function<void()>) override {}

  int events = 0;
  bool closed = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto id = mcp::http::parse_event_id(input);
  if (!id) return 0;
  // There is one way to write an id.
  if (mcp::http::to_string(*id) != input) std::abort();

  mcp::http::EventLog log({.bytes = 40, .streams = 2});
  for (int stream = 1; stream <= 4; ++stream) {
    const auto opened = log.open();
    for (int event = 0; event < 5; ++event) log.append(opened, "message");
    if (stream % 2 == 0) log.finish(opened);
  }
  log.append(mcp::http::EventLog::kUnsolicited, "unsolicited");
  const bool can = log.can_attach(*id);
  const auto reader = std::make_shared<Counter>();
  log.attach(*id, reader, true);
  // Whoever may resume is primed, and gets at most what one stream has.
  if (can && (reader->events < 1 || reader->events > 6)) std::abort();
  return 0;
}
