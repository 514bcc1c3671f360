// Lines of the log in JSON are one object each, which says whose it is and what it is about.
#include <gtest/gtest.h>

#include <chrono>

#include <nlohmann/json.hpp>

#include "tools/cli/logging.h"
#include "tools/log_members.h"

namespace tools {
namespace {

nlohmann::json parsed_line(const std::string& text) {
  const std::string printed =
      cli::json_line(std::chrono::system_clock::time_point(std::chrono::milliseconds(1500)),
                     "warning", text, LogMembers::now());
  EXPECT_EQ(printed.find('\n'), std::string::npos);
  return nlohmann::json::parse(printed);
}

TEST(LogLine, IsJsonWhateverItSays) {
  const auto read = parsed_line("a \"b\"\nhutch: error: forged\x1b[31m\xff{}");
  EXPECT_EQ(read["level"], "warning");
  EXPECT_EQ(read["time"], "1970-01-01T00:00:01.500Z");
  EXPECT_EQ(read["message"].get<std::string>().substr(0, 6), "a \"b\"\n");
  EXPECT_EQ(read.size(), 3U);
}

TEST(LogLine, KeepsNothingOfWhoHasNoScope) {
  LogMembers::set("principal", "alice");
  EXPECT_EQ(parsed_line("x").size(), 3U);
}

TEST(LogLine, HasWhatIsKnown) {
  const LogMembers outer;
  LogMembers::set("principal", "alice");
  LogMembers::set("run", "");
  {
    const LogMembers inner;
    LogMembers::set("session", "session_1\"\n");
    LogMembers::set("principal", "bob");
    const auto read = parsed_line("x");
    EXPECT_EQ(read["principal"], "bob");
    EXPECT_EQ(read["session"], "session_1\"\n");
    EXPECT_FALSE(read.contains("run"));
  }
  const auto after = parsed_line("x");
  EXPECT_EQ(after["principal"], "alice");
  EXPECT_FALSE(after.contains("session"));
}

}  // namespace
}  // namespace tools
