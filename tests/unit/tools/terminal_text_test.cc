// A terminal gets others' text without what it would obey, in whatever pieces the text comes.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tools/cli/terminal_text.h"

namespace {

using tools::cli::TerminalText;
using Returns = TerminalText::Returns;

std::string shown(std::string_view text, Returns returns = Returns::kPass) {
  TerminalText terminal(returns);
  std::string whole = terminal.take(text);
  whole += terminal.rest();
  return whole;
}

std::string shown_byte_by_byte(std::string_view text) {
  TerminalText terminal(Returns::kPass);
  std::string whole;
  for (const char& byte : text) whole += terminal.take({&byte, 1});
  return whole + terminal.rest();
}

TEST(TerminalText, PassesPlainTextAndColours) {
  for (const std::string_view text :
       {"", "plain\ttext\n", "10 %\r20 %\r\n", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
        "\x1b[31mred\x1b[0m", "\x1b[m", "\x1b[1;38;5;196mx\x1b[39;49m",
        "\x1b[38:2::255:0:0mx\x1b[0m", "\x1b[01;31m\x1b[Kfound\x1b[m\x1b[K", "\r\x1b[2K",
        "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d"}) {
    EXPECT_EQ(shown(text), text);
    EXPECT_EQ(shown_byte_by_byte(text), text);
  }
}

TEST(TerminalText, ShowsWhatATerminalWouldObey) {
  using namespace std::string_view_literals;
  const struct {
    std::string_view text;
    std::string_view shown;
  } rows[] = {
      {"\x1b]52;c;ZXZpbA==\x07", "\\x1B]52;c;ZXZpbA==\\x07"},  // writes the clipboard
      {"\x1b]0;title\x1b\\", "\\x1B]0;title\\x1B\\"},
      {"\x1b[2J\x1b[1;1H", "\\x1B[2J\\x1B[1;1H"},
      {"\x1b[1A\x1b[Ahutch: ", "\\x1B[1A\\x1B[Ahutch: "},  // over the line above
      {"\x1b[6n\x1b[c", "\\x1B[6n\\x1B[c"},                // answers come as if they were typed
      {"\x1b[?1049h\x1b[>4;1m", "\\x1B[?1049h\\x1B[>4;1m"},
      {"\x1bPq\x1b\\\x1b_G\x1b\\", "\\x1BPq\\x1B\\\\x1B_G\\x1B\\"},
      {"\x1b[31", "\\x1B[31"},
      {"\x1b", "\\x1B"},
      {"\x1b\x1b[31m", "\\x1B\x1b[31m"},
      {"\x1b[12K", "\\x1B[12K"},
      {"\0\a\b\v\f\x0e\x7f"sv, "\\x00\\x07\\x08\\x0B\\x0C\\x0E\\x7F"},
      {"\x9b"
       "31m",
       "\\x9B31m"},
      {"\xc2\x9b"
       "31m",
       "\\x9B31m"},  // the same in UTF-8
      {"\xc2\x85", "\\x85"},
      {"\xe2\x80\xae"
       "txt.exe\xe2\x81\xa6",
       "\\u202Etxt.exe\\u2066"},
      {"\xc0\x9b \xff \xed\xa0\x80", "\\xC0\\x9B \\xFF \\xED\\xA0\\x80"},
      {"\xe2\x82", "\\xE2\\x82"},
      {"\xe2\x1b[c", "\\xE2\\x1B[c"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(shown(row.text), row.shown);
    EXPECT_EQ(shown_byte_by_byte(row.text), row.shown);
  }
  EXPECT_EQ(shown("hutch: \rforged", Returns::kShow), "hutch: \\x0Dforged");
  const std::string endless = "\x1b[" + std::string(100'000, '1');
  EXPECT_EQ(shown_byte_by_byte(endless), "\\x1B[" + std::string(100'000, '1'));
}

TEST(TerminalText, KnowsWhetherColoursAreOn) {
  TerminalText terminal(Returns::kPass);
  EXPECT_EQ(terminal.take("\x1b[3"), "");
  EXPECT_FALSE(terminal.is_coloured());
  EXPECT_EQ(terminal.take("1mred"), "\x1b[31mred");
  EXPECT_TRUE(terminal.is_coloured());
  (void)terminal.take("\x1b[0m");
  EXPECT_FALSE(terminal.is_coloured());
  (void)terminal.take("\x1b[0;8mhidden");
  EXPECT_TRUE(terminal.is_coloured());
  (void)terminal.take("\x1b[m");
  EXPECT_FALSE(terminal.is_coloured());
}

}  // namespace
