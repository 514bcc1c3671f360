#include "tools/cli/logging.h"

#include <unistd.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/clock.h"
#include "base/full_disk.h"
#include "base/json.h"
#include "tools/cli/terminal.h"
#include "tools/cli/terminal_text.h"
#include "tools/text_window.h"

namespace tools::cli {
namespace {

std::atomic<bool> logs_json = false;

std::string text_in(const spdlog::string_view_t& view) { return {view.data(), view.size()}; }

// A terminal obeys what is written to it.
std::string shown_where_it_goes(const std::string& text) {
  static const bool leads_to_terminal = ::isatty(STDERR_FILENO) == 1;
  return leads_to_terminal ? TerminalText(TerminalText::Returns::kShow).take(text) : text;
}

// A message may hold anything that clients and sandboxes say: it stays one line.
class PlainMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& target) override {
    const std::string text = shown_where_it_goes(one_line(to_utf8(text_in(message.payload))));
    target.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PlainMessage>();
  }
};

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& target) override {
    const std::string line =
        shown_where_it_goes(json_line(message.time, text_in(to_string_view(message.level)),
                                      text_in(message.payload), LogMembers::now()));
    target.append(line.data(), line.data() + line.size());
    target.push_back('\n');
  }
  [[nodiscard]] std::unique_ptr<formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

void set_format(spdlog::logger& logger, const Settings& settings) {
  logs_json = settings.log_format == "json";
  if (logs_json) {
    logger.set_formatter(std::make_unique<JsonFormatter>());
  } else {
    auto plain = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
    plain->add_flag<PlainMessage>('J').set_pattern("hutch: %l: %J");
    logger.set_formatter(std::move(plain));
  }
  logger.set_level(spdlog::level::from_str(settings.log_level));
}

}  // namespace

void set_up_logging(const Settings& settings) {
  const auto logger =
      std::make_shared<spdlog::logger>("hutch", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  set_format(*logger, settings);
  spdlog::set_default_logger(logger);
}

void change_logging(const Settings& settings) { set_format(*spdlog::default_logger(), settings); }

std::string json_line(std::chrono::system_clock::time_point at, const std::string& level,
                      const std::string& text, const LogMembers::List& members) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch());
  // An object of the library would not keep this order.
  std::string line = R"({"time":)" + base::print_json(base::to_rfc3339(since.count())) +
                     R"(,"level":)" + base::print_json(level) + R"(,"message":)" +
                     base::print_json(text);
  for (const auto& [name, value] : members) {
    line += "," + base::print_json(std::string(name)) + ":" + base::print_json(value);
  }
  return line + "}";
}

bool log_is_json() { return logs_json; }

void announce(const std::string& level, const std::string& text) {
  if (!logs_json) {
    tell(level == "warning" ? "warning: " + text : text);
  } else {
    std::cerr << json_line(std::chrono::system_clock::now(), level, text, LogMembers::now()) + "\n";
  }
  std::cerr << std::flush;
}

void announce_failure(const base::Error& failure, bool as_json) {
  logs_json = logs_json || as_json;
  announce("error", failure.message);
}

void log_database(const base::Error& failure) {
  // Somebody else has it, or there is no room: nothing is broken.
  const bool passes =
      base::is_full_disk(failure) || failure.kind == base::Error::Kind::kUnavailable;
  spdlog::log(passes ? spdlog::level::warn : spdlog::level::err, "{}", failure.message);
}

void log_notice(const sessions::Notice& notice) {
  const LogMembers members;
  LogMembers::set("principal", notice.principal_id);
  LogMembers::set("session", notice.session_id);
  LogMembers::set("run", notice.run_id);
  // A plain line says in its text what it is about.
  std::string text = notice.message;
  for (const std::string& id : {notice.session_id, notice.run_id}) {
    if (!logs_json && !id.empty()) text += " (" + id + ")";
  }
  using Level = sessions::Notice::Level;
  if (notice.level == Level::kShown) return announce("info", one_line(to_utf8(text)));
  spdlog::log(notice.level == Level::kInfo ? spdlog::level::info : spdlog::level::warn, "{}", text);
}

}  // namespace tools::cli
