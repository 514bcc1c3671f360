// Lines out of bytes, however these are cut.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/line_splitter.h"

namespace {

using mcp::LineSplitter;

// Each line as text; one too long as "<id>".
std::vector<std::string> lines_of(const std::string& input, std::size_t bytes_max,
                                  std::size_t piece) {
  LineSplitter splitter(bytes_max);
  std::vector<std::string> lines;
  const auto take = [&] {
    lines.push_back(splitter.was_too_long() ? "<" + splitter.id_of_skipped().dump() + ">"
                                            : std::string(splitter.line()));
  };
  for (std::size_t at = 0; at < input.size(); at += piece) {
    std::string_view bytes = std::string_view(input).substr(at, piece);
    while (!bytes.empty()) {
      if (splitter.feed(bytes)) take();
    }
  }
  if (splitter.finish()) take();
  return lines;
}

void check(const std::string& input, std::size_t bytes_max,
           const std::vector<std::string>& expected) {
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 1000U}) {
    EXPECT_EQ(lines_of(input, bytes_max, piece), expected) << input << " by " << piece;
  }
}

TEST(LineSplitter, Lines) {
  check("", 10, {});
  check("a\nbc\n", 10, {"a", "bc"});
  check("a\r\n\n \t\r\nb", 10, {"a", "", "", "b"});
  check(std::string("a\0b\n", 4), 10, {std::string("a\0b", 3)});
}

TEST(LineSplitter, UpToTheBoundAndBeyond) {
  check("0123456789\nx\n", 10, {"0123456789", "x"});
  check("0123456789a\nx\n", 10, {"<null>", "x"});
  check(R"({"id":12,"method":"a"})"
        "\nx\n",
        10, {"<12>", "x"});
  check(R"({"method":"a","id":"b"})"
        "\n"
        R"({"method":"aaaaaaa"})"
        "\ny",
        10, {"<\"b\">", "<null>", "y"});
}

TEST(LineSplitter, ALineCutByTheEndOfInput) {
  check("ab\ncd", 10, {"ab", "cd"});
  check("0123456789abc", 10, {"<null>"});
}

}  // namespace
