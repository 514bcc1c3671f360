// The log on standard error has plain lines for people, or one JSON object a line for programs.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "sessions/notice.h"
#include "tools/cli/settings.h"
#include "tools/log_members.h"

namespace tools::cli {

void set_up_logging(const Settings& settings);
// Others may log meanwhile. Each line is of the old kind, or of the new.
void change_logging(const Settings& settings);

// Whatever the text and the members hold, it is one JSON object on one line, without its end.
std::string json_line(std::chrono::system_clock::time_point at, const std::string& level,
                      const std::string& text, const LogMembers::List& members);

// Whoever has started hutch reads it at every level. `level` is "info", "warning" or "error"; in a
// plain log no line of this kind has it but a warning.
void announce(const std::string& level, const std::string& text);
// It is for a failure before the settings are known.
void announce_failure(const base::Error& failure, bool as_json);
[[nodiscard]] bool log_is_json();

void log_notice(const sessions::Notice& notice);
// A statement of the database has failed with it.
void log_database(const base::Error& failure);

}  // namespace tools::cli
