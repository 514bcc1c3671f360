#include "tools/cli/server_log.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "sandbox/wire/json.h"
#include "tools/cli/terminal_text.h"
#include "tools/text_window.h"

namespace tools::cli {
namespace {

// A message may hold anything that clients and sandboxes say: it stays one line, and one string of
// JSON.
class LoggedMessage : public spdlog::custom_flag_formatter {
 public:
  explicit LoggedMessage(bool as_json) : as_json_(as_json) {}

  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& target) override {
    const std::string said(message.payload.data(), message.payload.size());
    std::string text = as_json_ ? sandbox::wire::print_json(said) : one_line(to_utf8(said));
    if (is_terminal_) text = TerminalText(TerminalText::Returns::kShow).take(text);
    target.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LoggedMessage>(as_json_);
  }

 private:
  const bool as_json_;
  const bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
};

}  // namespace

void set_up_log(const std::string& format, const std::string& level) {
  const bool as_json = format == "json";
  const auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  const auto logger = std::make_shared<spdlog::logger>("hutch", sink);
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<LoggedMessage>('J', as_json)
      .set_pattern(as_json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%J})"
                           : "hutch: %l: %J");
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(logger);
}

void log_events_of(mcp::Server& server) {
  server.on_fault([](const std::string& what) { spdlog::error("{}", what); });
  server.on_call(
      [](const mcp::CallContext& context, const std::string& what, std::chrono::milliseconds took) {
        if (context.trace_parent().empty()) {
          spdlog::debug("{} {} ms", what, took.count());
        } else {
          spdlog::info("{} {} ms traceparent {}", what, took.count(), context.trace_parent());
        }
      });
}

}  // namespace tools::cli
